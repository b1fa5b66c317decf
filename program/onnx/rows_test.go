package onnx

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"thole.example/program"
)

// tables is y = the sum over fields of rows of w, times values.
func tables(t *testing.T) (*program.Program, *source) {
	t.Helper()
	col := func(i int64) []program.Attr {
		return []program.Attr{{Name: "col", Type: program.AttrType_INT, Value: i}}
	}
	attrs := []program.Attr{{Name: "padding_idx", Type: program.AttrType_LONG, Value: int64(-1)}}
	axis := []program.Attr{{Name: "axis", Type: program.AttrType_INT, Value: int64(-1)}}
	ids := float("ids", -1, -1)
	ids.Elem = program.VarType_INT64
	p, err := program.New([]program.Block{{Parent: -1, Vars: []program.Var{
		{Name: "feed", Kind: program.VarType_FEED_MINIBATCH, Persistable: true},
		{Name: "fetch", Kind: program.VarType_FETCH_LIST, Persistable: true},
		ids, float("vals", -1, -1), param("w", program.VarType_FP32, 3, 2), float("e", -1, -1, 2), float("prediction", -1, -1, 2)},
		Ops: []program.Op{
			{Type: "feed", In: slots("X", "feed"), Out: slots("Out", "vals"), Attrs: col(1)},
			{Type: "feed", In: slots("X", "feed"), Out: slots("Out", "ids"), Attrs: col(0)},
			{Type: "lookup_table_v2", In: slots("W", "w", "Ids", "ids"), Out: slots("Out", "e"), Attrs: attrs},
			{Type: "elementwise_mul", In: slots("X", "e", "Y", "vals"), Out: slots("Out", "prediction"), Attrs: axis},
			{Type: "fetch", In: slots("X", "prediction"), Out: slots("Out", "fetch"), Attrs: col(0)},
		}}}, 2_000_000)
	if err != nil {
		t.Fatal(err)
	}
	src := &source{}
	src.add("w", 3, 2, []float32{1, 2, 3, 4, 0, 0})
	return p, src
}

// TestRows: keys are looked up, ids that are no rows are made row 0 with value 0, and nothing is added where nobody said how many rows
// there are.
func TestRows(t *testing.T) {
	const end = "=e axis=0; Mul(e,%s)=prediction; Identity(prediction)=score"
	for _, c := range []struct {
		o          Options
		want, sets string
	}{
		{Options{}, "Gather(w,ids)" + fmt.Sprintf(end, "vals"), ""},
		{Options{Rows: 3, Keys: []int64{5, -1}}, "ai.onnx.ml.LabelEncoder(ids)=rows_1 default_int64=2 keys_int64s=05" +
			"ffffffffffffffffff01 values_int64s=0001; Gather(w,rows_1)" + fmt.Sprintf(end, "vals"), "ai.onnx.ml 2"},
		{Options{Rows: 3}, "GreaterOrEqual(ids,integer_1)=above_2; Less(ids,integer_3)=below_4; And(above_2,below_4)=known_5; " +
			"Where(known_5,ids,integer_1)=rows_6; Where(known_5,vals,number_7)=values_8; " +
			"Gather(w,rows_6)" + fmt.Sprintf(end, "values_8"), ""},
		{Options{Rows: 1, Keys: []int64{}}, "GreaterOrEqual(ids,integer_1)=above_2; Less(ids,integer_3)=below_4; And(above_2,below_4)=known_5; " +
			"Where(known_5,ids,integer_1)=rows_6; Where(known_5,vals,number_7)=values_8; " +
			"Gather(w,rows_6)" + fmt.Sprintf(end, "values_8"), ""},
	} {
		p, src := tables(t)
		if f := read(t, encode(t, p, src, c.o)); f.nodes != c.want || f.sets != c.sets {
			t.Errorf("%+v:\n%s; sets %q, want\n%s; sets %q", c.o, f.nodes, f.sets, c.want, c.sets)
		}
	}
}

// TestApart: parameters lie one after the other in the other file, and constants in the model.
func TestApart(t *testing.T) {
	p, src := tables(t)
	m, err := New(p, src, Options{Rows: 3})
	if err != nil {
		t.Fatal(err)
	}
	m.Apart("w.data")
	var model, data bytes.Buffer
	if err := m.Write(context.Background(), &model, nil); err != nil || int64(model.Len()) != m.Size() {
		t.Fatalf("%d bytes, said %d, %v", model.Len(), m.Size(), err)
	}
	if err := m.WriteData(context.Background(), &data, nil); err != nil {
		t.Fatal(err)
	}
	const want = "w float32[3 2] 1 location=w.data offset=0 length=24; integer_1 int64[] 0000000000000000; " +
		"integer_3 int64[] 0300000000000000; number_7 float32[] 00000000"
	if f := read(t, model.Bytes()); f.tensors != want {
		t.Errorf("tensors %s, want %s", f.tensors, want)
	}
	if got := fmt.Sprintf("%x", data.Bytes()); got != "0000803f00000040000040400000804000000000"+"00000000" {
		t.Errorf("values %s", got)
	}
}
