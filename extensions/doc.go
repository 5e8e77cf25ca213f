// Package extensions runs agent extensions: it finds them, decides whether they may run, holds the loaded ones in one
// immutable snapshot, sends them events and reconciles their answers.
//
// It owns the vocabulary of the extension contract, discovery, manifests, compatibility, trust, the registry, the
// dispatcher and the record of reloads. It must never know HTTP, how an extension's code is executed (extensions/js,
// extensions/process) or how an action changes the product (extensions/action and the packages behind its interfaces).
package extensions
