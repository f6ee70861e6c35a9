package firestoredb

import (
	"context"
	"slices"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
)

// rollbackWithin bounds the release of a failed transaction's locks.
const rollbackWithin = 2 * time.Second

// tx is one attempt of a transaction. It begins with its first read.
type tx struct {
	s      *Store
	ctx    context.Context
	method string
	id     []byte
	// before is the id of the attempt before this one, by which Firestore gives a
	// transaction that lost the precedence it had.
	before []byte
}

// get reads documents within the transaction, as Store.get does outside one.
func (t *tx) get(names []string, mask []string) (got, error) {
	all := got{documents: make(map[string]*pb.Document, len(names))}
	for chunk := range slices.Chunk(names, batchNames) {
		req := &pb.BatchGetDocumentsRequest{Documents: chunk, Mask: maskOf(mask)}
		if t.id != nil {
			req.ConsistencySelector = &pb.BatchGetDocumentsRequest_Transaction{Transaction: t.id}
		} else {
			req.ConsistencySelector = &pb.BatchGetDocumentsRequest_NewTransaction{NewTransaction: readWrite(t.before)}
		}
		id, err := t.s.getOnce(t.ctx, t.method, req, &all)
		if id != nil {
			t.id = id
		}
		if err != nil {
			return got{}, err
		}
	}
	return all, nil
}

func readWrite(before []byte) *pb.TransactionOptions {
	return &pb.TransactionOptions{Mode: &pb.TransactionOptions_ReadWrite_{
		ReadWrite: &pb.TransactionOptions_ReadWrite{RetryTransaction: before},
	}}
}

// transact runs plan in a transaction and commits the writes it returns; the
// response is nil where it returns none. Plan may run several times, so it must
// leave nothing behind, and it must read before it returns writes.
func (s *Store) transact(ctx context.Context, method string, plan func(*tx) ([]*pb.Write, error)) (resp *pb.CommitResponse, err error) {
	var before []byte
	err = retry(ctx, afterRead, func() error {
		t := &tx{s: s, ctx: ctx, method: method, before: before}
		resp, err = t.attempt(plan)
		before = t.id
		return err
	})
	return resp, conflicts(err)
}

func (t *tx) attempt(plan func(*tx) ([]*pb.Write, error)) (*pb.CommitResponse, error) {
	writes, err := plan(t)
	if err != nil || len(writes) == 0 {
		t.rollback()
		return nil, err
	}
	resp, err := t.s.commitOnce(t.ctx, t.method, &pb.CommitRequest{Writes: writes, Transaction: t.id})
	if err == nil {
		return resp, nil
	}
	t.rollback()
	if code := codeOf(err); code == codes.Unavailable || code == codes.Internal {
		// It may have been applied; only the caller knows whether that matters.
		err = translate(err, "commit")
	}
	return nil, err
}

// rollback releases the transaction's locks at once, where it began. Firestore
// releases them by itself some time later, so that its failure changes nothing.
func (t *tx) rollback() {
	if t.id == nil {
		return
	}
	ctx, cancel := t.s.outgoing(context.WithoutCancel(t.ctx), rollbackWithin)
	defer cancel()
	_ = t.s.client.Rollback(ctx, &pb.RollbackRequest{Database: t.s.database, Transaction: t.id})
}
