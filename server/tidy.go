package server

import (
	"context"
	"slices"

	"thole.example/blob"
	"thole.example/state"
)

// deepChain is how many checkpoints have to be read before the oldest that is kept until it is made whole: one in so many costs a second
// writing, and what it was based on can go.
const deepChain = state.ChainLimit / 2

// tidy removes the checkpoints beside one that was committed, but for the last keep of its run and what these need, and what killed
// processes left there, in the background.
// Before that it makes the oldest of them whole if it is based on many others. What fails is logged, and tried again after the next commit.
func (s *Server) tidy(j *job, last string, keep int) {
	if keep < 1 || !j.tidying.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer j.tidying.Store(false)
		folder := blob.Parent(last)
		err := s.try(func() {
			if err := s.tidyFolder(j.ctx, j.bucket(), last, keep); err != nil && j.ctx.Err() == nil {
				s.logger().Warn("old checkpoints could not be removed", "folder", folder, "err", err)
			}
		})
		if err != nil {
			s.logger().Error("old checkpoints could not be removed", "folder", folder, "err", err)
		}
	}()
}

// tidyFolder tidies the folder of the checkpoint last. Later ones are left as they are, and count for nothing: the training went back
// behind them, and replaces them when it comes there.
func (s *Server) tidyFolder(ctx context.Context, b blob.Bucket, last string, keep int) error {
	if err := state.Sweep(ctx, b, blob.Parent(last)); err != nil {
		return err
	}
	list := func() ([]state.Entry, error) {
		all, err := state.List(ctx, b, blob.Parent(last))
		return slices.DeleteFunc(all, func(e state.Entry) bool { return e.Stepped() && e.Path > last }), err
	}
	all, err := list()
	if err != nil {
		return err
	}
	if oldest := oldestKept(all, keep); oldest != "" && depth(all, oldest) >= deepChain {
		if err := state.Compact(ctx, b, oldest, nil); err != nil {
			return err
		}
		if all, err = list(); err != nil {
			return err
		}
	}
	gone := state.Keep(all, keep)
	for _, e := range slices.Backward(gone) { // what others are based on goes after them
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.Remove(ctx, e.Path); err != nil {
			return err
		}
	}
	return nil
}

// oldestKept is the path of the oldest of the last keep checkpoints of the run that wrote the last one; "" if there is none.
func oldestKept(all []state.Entry, keep int) (at string) {
	run, n := "", 0
	for i := range slices.Backward(all) {
		e := &all[i]
		if e.Err != nil || !e.Stepped() || n > 0 && e.Head.Moment.Run != run {
			continue
		}
		run, at = e.Head.Moment.Run, e.Path
		if n++; n == keep {
			break
		}
	}
	return at
}

// depth is how many of the folder have to be read before a checkpoint.
func depth(all []state.Entry, at string) (n int) {
	for ; n < len(all); n++ {
		i := slices.IndexFunc(all, func(e state.Entry) bool { return e.Path == at })
		if i < 0 || all[i].Err != nil || all[i].Head.Whole() {
			break
		}
		at = all[i].Head.Base.Path
	}
	return n
}
