// Package simulation runs whole histories of the system in one process, with
// every step chosen by whoever drives it: which of several processes takes an
// event or a message, which of the calls that wait for the store is let through
// next, which of them fails, before it is made or after it was applied, and when
// a process is killed. Time is that of a testing/synctest bubble. The same
// choices give the same history, so that a history that ends wrong can be run
// again.
//
// What runs is the code that is deployed (hook, reconcile, repair, turns) on the
// embedded store; only the store's answers, the topic and the trigger are in the
// hands of the driver.
package simulation
