package data

import (
	"bufio"
	"context"
	"io"
)

// HeaderOf is the names of the columns of a table, of a file as LoadFiles takes them, without its rows.
func HeaderOf(ctx context.Context, path string, opt Options) ([]string, error) {
	s, err := opt.settings(path)
	if err != nil {
		return nil, err
	}
	if s.folders, err = folderColumnsOf(path); err != nil {
		return nil, err
	}
	if names := s.columns().Spec.Names; names != nil {
		return s.withFolders(names), nil
	}
	if s.cells {
		t, err := s.openTable(ctx, path)
		if err != nil {
			return nil, err
		}
		defer t.Close()
		return t.Header(), nil
	}
	f, err := openFile(ctx, opt.Store, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := Input{Name: path, Stream: f}
	if err := in.unpack(); err != nil {
		return nil, &Error{path, 0, err}
	}
	head, err := bufio.NewReaderSize(in.Stream, headLen).Peek(headLen)
	if err != nil && err != io.EOF {
		return nil, &Error{path, 0, in.why(err)}
	}
	names, err := s.headerIn(head)
	if err != nil {
		return nil, err
	}
	return s.withFolders(names), nil
}

// withFolders are the names of the columns of a file and its folders.
func (s *settings) withFolders(names []string) []string {
	if len(names) == 0 {
		return names
	}
	_, all := folderCellsOf(names, s.folders)
	return all
}
