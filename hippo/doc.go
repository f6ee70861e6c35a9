// Package hippo is the domain of Hippofire: ids, names, positions, messages,
// episodes, the hippocampal index and the Store that holds them.
//
// It depends on the standard library alone. Everything in it is either a value
// or a pure decision over values; whatever waits, reads or writes lies behind
// the Store interface, whose comment is the contract that every store passes.
//
// Words, as the rest of the project uses them: a tenant is one customer's
// memory; a memory is a long-term record with a name; the index is one small
// entry per memory, kept in shards of a generation that meta names; a thread
// holds messages; the window is the part of it that a turn replays; a stretch is
// the run of messages one memory pass consolidated; an episode is the record of
// a stretch, with one line (its gist) and pointers to the memories filed from it.
package hippo
