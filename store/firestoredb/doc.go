// Package firestoredb is the hippo.Store that keeps everything in Firestore. It
// holds all of the project's Firestore code.
//
// It speaks to Firestore through the generated client alone, so that a read can
// name the fields it needs, a transaction can begin with its first read, and the
// index is decoded without a map of any in between. What each method sends:
//
//	one document       BatchGetDocuments; so do several, with a mask where content would be moved for nothing
//	a list             RunQuery, ordered by a field and then by name, with cursors
//	a count            RunAggregationQuery
//	Tenants, Threads   ListDocuments, which alone lists documents that do not exist but have some below them
//	a transaction      BatchGetDocuments with new_transaction, then Commit; every read comes before the first write
//	anything else      Commit
//
// Which indexes the queries need stands in firestore.indexes.json; the package
// indexcheck, driven by a recorder of what the tests send, holds the two
// together.
package firestoredb
