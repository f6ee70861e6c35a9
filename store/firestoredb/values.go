package firestoredb

import (
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hippofire/hippofire/hippo"
	"github.com/hippofire/hippofire/store/schema"
)

// other stands for a value of a type that the domain has no use for, such as a
// reference or a geo point.
type other struct{}

// decode reads fields as package schema takes them.
func decode(fields map[string]*pb.Value) schema.Fields {
	f := make(schema.Fields, len(fields))
	for name, v := range fields {
		f[name] = decodeValue(v)
	}
	return f
}

func decodeValue(v *pb.Value) any {
	switch v := v.GetValueType().(type) {
	case *pb.Value_StringValue:
		return v.StringValue
	case *pb.Value_IntegerValue:
		return v.IntegerValue
	case *pb.Value_DoubleValue:
		return v.DoubleValue
	case *pb.Value_BooleanValue:
		return v.BooleanValue
	case *pb.Value_TimestampValue:
		return v.TimestampValue.AsTime()
	case *pb.Value_NullValue:
		return nil
	case *pb.Value_ArrayValue:
		list := make([]any, len(v.ArrayValue.GetValues()))
		for i, e := range v.ArrayValue.GetValues() {
			list[i] = decodeValue(e)
		}
		return list
	case *pb.Value_MapValue:
		return decode(v.MapValue.GetFields())
	}
	return other{}
}

// encode writes the fields that package schema made.
func encode(f schema.Fields) (map[string]*pb.Value, error) {
	fields := make(map[string]*pb.Value, len(f))
	for name, v := range f {
		value, err := encodeValue(v)
		if err != nil {
			return nil, hippo.Under(err, name)
		}
		fields[name] = value
	}
	return fields, nil
}

func encodeValue(v any) (*pb.Value, error) {
	switch v := v.(type) {
	case nil:
		return &pb.Value{ValueType: &pb.Value_NullValue{NullValue: structpb.NullValue_NULL_VALUE}}, nil
	case string:
		return text(v), nil
	case int64:
		return integer(v), nil
	case float64:
		return &pb.Value{ValueType: &pb.Value_DoubleValue{DoubleValue: v}}, nil
	case bool:
		return &pb.Value{ValueType: &pb.Value_BooleanValue{BooleanValue: v}}, nil
	case time.Time:
		return timestamp(v), nil
	case []any:
		list := &pb.ArrayValue{Values: make([]*pb.Value, len(v))}
		for i, e := range v {
			var err error
			if list.Values[i], err = encodeValue(e); err != nil {
				return nil, err
			}
		}
		return &pb.Value{ValueType: &pb.Value_ArrayValue{ArrayValue: list}}, nil
	case schema.Fields:
		fields, err := encode(v)
		return mapOf(fields), err
	}
	return nil, hippo.Errorf(hippo.Internal, "", "a %T cannot be stored", v)
}

func text(s string) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_StringValue{StringValue: s}}
}

func integer(n int64) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: n}}
}

func timestamp(t time.Time) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_TimestampValue{TimestampValue: timestamppb.New(t)}}
}

func reference(name string) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_ReferenceValue{ReferenceValue: name}}
}

func mapOf(fields map[string]*pb.Value) *pb.Value {
	return &pb.Value{ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: fields}}}
}

// size is Firestore's storage size of a document, as schema.Size has it.
func size(d *pb.Document) int64 {
	return schema.Size(path(d.GetName()), nil) + fieldsSize(d.GetFields())
}

func fieldsSize(fields map[string]*pb.Value) int64 {
	var n int64
	for name, v := range fields {
		n += int64(len(name)) + 1 + valueSize(v)
	}
	return n
}

func valueSize(v *pb.Value) int64 {
	switch v := v.GetValueType().(type) {
	case *pb.Value_StringValue:
		return int64(len(v.StringValue)) + 1
	case *pb.Value_IntegerValue, *pb.Value_DoubleValue, *pb.Value_TimestampValue:
		return 8
	case *pb.Value_BytesValue:
		return int64(len(v.BytesValue))
	case *pb.Value_ReferenceValue:
		return 16 + int64(len(path(v.ReferenceValue))) + 1
	case *pb.Value_GeoPointValue:
		return 16
	case *pb.Value_ArrayValue:
		var n int64
		for _, e := range v.ArrayValue.GetValues() {
			n += valueSize(e)
		}
		return n
	case *pb.Value_MapValue:
		return fieldsSize(v.MapValue.GetFields())
	}
	return 1
}
