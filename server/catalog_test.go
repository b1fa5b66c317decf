package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/state"
)

// TestCatalog: a folder of checkpoints as a task sees it; some are removed, what others are based on is not, and nothing outside.
func TestCatalog(t *testing.T) {
	bucket := &blob.Mem{}
	f := newFleet(t, "tcp", 2, bucket, []matrix.Meta{meta("w", 1, 8, matrix.RowDense)})
	f.run(1, ssp.ASP, func(ctx context.Context, p *ps.Client, _ int) error {
		if all, err := p.Checkpoints(ctx, "run"); err != nil || len(all) > 0 {
			t.Errorf("an empty folder has %v, %v", all, err)
		}
		for i, base := range []string{"", "run/0", "run/1", ""} {
			moment, _ := json.Marshal(state.Moment{Run: "r", Step: i})
			k, err := p.BeginCheckpoint(ctx, ps.CheckpointOptions{Path: fmt.Sprint("run/", i), Base: base, Track: true, Moment: moment})
			if err == nil {
				err = k.Wait(ctx)
			}
			if err = errors.Join(err, p.Push("w", ones(f.metas[0])), p.Clock(ctx, 0, 0)); err != nil {
				return err
			}
		}
		if err := errors.Join(p.Checkpoint(ctx, "other/0"), blob.WriteAll(ctx, bucket, "run/bad/checkpoint", []byte("no head"))); err != nil {
			return err
		}
		names := func() (out []string) {
			all, err := p.Checkpoints(ctx, "run")
			if err != nil {
				t.Error(err)
			}
			for _, k := range all {
				out = append(out, k.Name)
			}
			return out
		}
		all, err := p.Checkpoints(ctx, "run")
		if err != nil || len(all) != 5 {
			return fmt.Errorf("%v, %w, want 5 checkpoints", all, err)
		}
		var moment state.Moment
		if err := json.Unmarshal(all[2].Moment, &moment); err != nil || !reflect.DeepEqual(moment, state.Moment{Run: "r", Step: 2}) {
			t.Errorf("moment %+v, %v", moment, err)
		}
		if k := all[2]; k.Base != "run/1" || k.Path != "run/2" || k.Clock != 2 || k.Bound != ssp.ASP || k.ID == "" || k.Bytes == 0 || k.Err != "" {
			t.Errorf("%+v", k)
		}
		if k := all[4]; k.Name != "bad" || k.Err == "" || all[0].Base != "" {
			t.Errorf("%+v", k)
		}
		for _, c := range []struct {
			folder string
			names  []string
			kind   error
			text   string
		}{
			{"run", []string{"0"}, rpc.ErrRefused, `"run/0" is what "run/1" is based on`},
			{"run", []string{"3", "0", "2"}, rpc.ErrRefused, `"run/0" is what "run/1" is based on`},
			{"run", []string{"3", "9"}, rpc.ErrNotFound, `no checkpoint "9"`},
			{"run", []string{"../other/0"}, rpc.ErrNotFound, "no checkpoint"},
			{"other", []string{"../run/3"}, rpc.ErrNotFound, "no checkpoint"},
			{"run", []string{"bad"}, rpc.ErrRefused, "cannot be read"},
			{"", []string{"run"}, rpc.ErrMalformed, "want the folder"},
		} {
			fails(t, fmt.Sprint(c.folder, c.names), p.RemoveCheckpoints(ctx, c.folder, c.names), c.kind, c.text)
		}
		if got := names(); len(got) != 5 {
			t.Errorf("left %q, want all", got)
		}
		if err := p.RemoveCheckpoints(ctx, "run", []string{"0", "3", "2", "1"}); err != nil {
			return err
		}
		if got := names(); !slices.Equal(got, []string{"bad"}) {
			t.Errorf("left %q", got)
		}
		if _, err := state.Open(ctx, bucket, "other/0"); err != nil {
			t.Error(err)
		}
		return nil
	})
}
