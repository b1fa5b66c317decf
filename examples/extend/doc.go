// Package extend adds to Thole from another module: a storage format, a layer, a loss, an update rule and a function that runs
// beside the data. Each is a value in a file of its own; the test puts them after the built-in ones and uses all of them at once.
package extend
