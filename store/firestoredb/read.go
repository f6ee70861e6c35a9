package firestoredb

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/hippofire/hippofire/hippo"
)

// batchNames is how many documents one BatchGetDocuments names. The request has
// to stay below gRPC's default of 4 MiB; a name takes 2 KB at most.
const batchNames = 1000

// got is what a batch of reads found: documents by their resource names, and the
// time of the snapshot.
type got struct {
	documents map[string]*pb.Document
	at        time.Time
}

// get reads documents by name. A mask, where there is one, names the fields to
// move; an empty one moves none.
func (s *Store) get(ctx context.Context, method string, names []string, mask []string) (got, error) {
	all := got{documents: make(map[string]*pb.Document, len(names))}
	for chunk := range slices.Chunk(names, batchNames) {
		err := retry(ctx, afterRead, func() error {
			_, err := s.getOnce(ctx, method, &pb.BatchGetDocumentsRequest{Documents: chunk, Mask: maskOf(mask)}, &all)
			return err
		})
		if err != nil {
			return got{}, translate(err, "read documents")
		}
	}
	return all, nil
}

// getOne reads one document; nil where it does not exist.
func (s *Store) getOne(ctx context.Context, method, name string) (*pb.Document, error) {
	found, err := s.get(ctx, method, []string{name}, nil)
	return found.documents[name], err
}

// getOnce sends one request, adds what it finds, and returns the id of the
// transaction it began.
func (s *Store) getOnce(ctx context.Context, method string, req *pb.BatchGetDocumentsRequest, into *got) (transaction []byte, err error) {
	ctx, cancel := s.outgoing(ctx, callWithin)
	defer cancel()
	req.Database = s.database
	stream, err := s.client.BatchGetDocuments(ctx, req)
	if err != nil {
		return nil, err
	}
	var answers int
	var bytes int64
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			hippo.CountRead(ctx, method, answers, bytes)
			return transaction, nil
		}
		if err != nil {
			return transaction, err
		}
		if r.Transaction != nil {
			transaction = r.Transaction
		}
		if r.GetResult() == nil {
			continue
		}
		answers++
		into.at = r.ReadTime.AsTime()
		if d := r.GetFound(); d != nil {
			bytes += size(d)
			into.documents[d.Name] = d
		}
	}
}

func maskOf(fields []string) *pb.DocumentMask {
	if fields == nil {
		return nil
	}
	return &pb.DocumentMask{FieldPaths: fields}
}
