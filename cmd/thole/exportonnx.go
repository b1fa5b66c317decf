package main

import (
	"bufio"
	"context"

	"thole.example/format"
	"thole.example/program"
	"thole.example/program/export"
	"thole.example/program/onnx"
)

// writeONNX stores a program and its parameters as a file of ONNX, and says what its inputs and outputs are. Columns that ids number
// are in its metadata.
func writeONNX(ctx context.Context, p *program.Program, r format.Reader, to *sink, done func(int)) (in, out []string, err error) {
	meta := map[string]string{}
	if keys := r.Files()[export.KeysFile]; keys != nil {
		meta["keys"] = string(keys)
	}
	m, err := onnx.New(p, r, meta)
	if err != nil {
		return nil, nil, err
	}
	w, err := to.create(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer w.Abort()
	buf := bufio.NewWriterSize(w, 1<<16)
	if err := m.Write(ctx, buf, done); err != nil {
		return nil, nil, err
	}
	if err := buf.Flush(); err != nil {
		return nil, nil, err
	}
	texts := func(all []onnx.Value) (list []string) {
		for _, v := range all {
			list = append(list, v.String())
		}
		return list
	}
	return texts(m.Inputs), texts(m.Outputs), w.Commit()
}
