package migrations

// NewProvider lets tests stop at a version in between.
var NewProvider = newProvider
