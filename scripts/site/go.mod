// What turns the documentation into a site lives in a module of its own, so that its dependency stays out of the product's go.mod.
module harness/scripts/site

go 1.26.0

require github.com/yuin/goldmark v1.8.7
