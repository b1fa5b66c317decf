// Package engines has the tests of thole by the systems that place its processes on clusters: real ones, in name spaces of this machine
// (make engines). They want root, Linux, and the scripts of ../shared/engines, where another folder is not named by $ENGINES. What those
// run is built once, into $ENGINES_BIN or a folder of the user's cache; the first time takes minutes.
package engines
