// Package embedded is the store without a server: documents in memory, in the
// form that Firestore would hold them, optionally saved to a folder.
//
// One mutex guards all of it. A transaction is a closure that reads documents
// and collects writes; they are checked as a whole, written to the journal as
// one line, and only then applied, so that what is in memory never runs ahead of
// what was saved. Documents keep Firestore's rules where the domain depends on
// them: a write that changes nothing is no change, a document ends at 1 MiB, a
// merge keeps what it does not name.
//
// A folder holds two files: "lock", held by the one process that writes, and
// "journal.jsonl". A line of the journal is one commit. It is handed to the
// operating system before the call returns, but not forced onto the disk before
// Close: it survives the end of the process, and most likely not a power cut.
package embedded
