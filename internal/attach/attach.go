// Package attach lets a package above ebb act when a runtime is made, without ebb
// importing it.
package attach

// Listen serves a runtime's memory (an *ebb.Runtime), if a package has set it, on
// a socket until the function it returns is called. It is set before any runtime
// is made, by an init function.
var Listen func(rt any) (stop func())
