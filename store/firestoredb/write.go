package firestoredb

import (
	"context"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// set replaces a whole document.
func set(name string, f schema.Fields) (*pb.Write, error) {
	fields, err := encode(f)
	return &pb.Write{Operation: &pb.Write_Update{Update: &pb.Document{Name: name, Fields: fields}}}, err
}

// merge sets the named fields and keeps the document's others.
func merge(name string, f schema.Fields) (*pb.Write, error) {
	w, err := set(name, f)
	w.UpdateMask = &pb.DocumentMask{}
	for field := range f {
		w.UpdateMask.FieldPaths = append(w.UpdateMask.FieldPaths, fieldPath(field))
	}
	return w, err
}

func remove(name string) *pb.Write {
	return &pb.Write{Operation: &pb.Write_Delete{Delete: name}}
}

// stamped sets a field to the store's time.
func stamped(w *pb.Write, field string) *pb.Write {
	w.UpdateTransforms = append(w.UpdateTransforms, &pb.DocumentTransform_FieldTransform{
		FieldPath:     fieldPath(field),
		TransformType: &pb.DocumentTransform_FieldTransform_SetToServerValue{SetToServerValue: pb.DocumentTransform_FieldTransform_REQUEST_TIME},
	})
	return w
}

// setStamped is set, with one field more for the store's time.
func setStamped(name string, f schema.Fields, field string) (*pb.Write, error) {
	w, err := set(name, f)
	return stamped(w, field), err
}

// stampOf is the time that stamped set, as the write's result tells it.
func stampOf(r *pb.WriteResult) hippo.Micros {
	if len(r.GetTransformResults()) == 0 {
		return 0
	}
	return hippo.MicrosOf(r.TransformResults[len(r.TransformResults)-1].GetTimestampValue().AsTime())
}

// ifExists refuses the write where the document is there, or where it is not.
func ifExists(w *pb.Write, exists bool) *pb.Write {
	w.CurrentDocument = &pb.Precondition{ConditionType: &pb.Precondition_Exists{Exists: exists}}
	return w
}

// ifUnchanged refuses the write where the document was written since.
func ifUnchanged(w *pb.Write, since time.Time) *pb.Write {
	w.CurrentDocument = &pb.Precondition{ConditionType: &pb.Precondition_UpdateTime{UpdateTime: timestamppb.New(since)}}
	return w
}

// commit writes outside any transaction.
func (s *Store) commit(ctx context.Context, method string, writes ...*pb.Write) (*pb.CommitResponse, error) {
	again := afterIdempotent
	for _, w := range writes {
		if c := w.GetCurrentDocument(); c != nil && !c.GetExists() {
			again = afterWrite // a repetition would be refused by what the first one did
		}
	}
	var resp *pb.CommitResponse
	err := retry(ctx, again, func() (err error) {
		resp, err = s.commitOnce(ctx, method, &pb.CommitRequest{Writes: writes})
		return err
	})
	return resp, conflicts(err)
}

func (s *Store) commitOnce(ctx context.Context, method string, req *pb.CommitRequest) (*pb.CommitResponse, error) {
	ctx, cancel := s.outgoing(ctx, callWithin)
	defer cancel()
	req.Database = s.database
	resp, err := s.client.Commit(ctx, req)
	if err == nil {
		hippo.CountWrites(ctx, method, len(req.Writes))
	}
	return resp, err
}

// conflicts translates the error of a commit, in which a precondition that does
// not hold is a conflict.
func conflicts(err error) error {
	const doing = "write documents"
	if codeOf(err) == codes.FailedPrecondition {
		return hippo.Wrap(hippo.Conflict, err, doing)
	}
	return translate(err, doing)
}
