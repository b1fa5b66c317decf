package main

import (
	"errors"
	"io/fs"
	"strings"
)

// messageOf is the text of an error, in which errors of the file system read as others do: the path, and what is wrong with it, without
// the system call.
func messageOf(err error) string {
	text := err.Error()
	for _, e := range pathErrors(err) {
		why := e.Err.Error()
		if errors.Is(e.Err, fs.ErrNotExist) {
			why = fs.ErrNotExist.Error()
		}
		text = strings.ReplaceAll(text, e.Error(), e.Path+": "+why)
	}
	return text
}

// pathErrors are the errors of the file system that an error wraps.
func pathErrors(err error) (all []*fs.PathError) {
	if e, is := err.(*fs.PathError); is {
		return []*fs.PathError{e}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return pathErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, pathErrors(one)...)
		}
	}
	return all
}
