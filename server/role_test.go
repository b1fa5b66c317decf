package server_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// passing is a role that is held for so many checks more.
type passing struct{ left atomic.Int64 }

func (r *passing) Epoch() uint64 { return 3 }

func (r *passing) Copied(context.Context, []string) error { return nil }

func (r *passing) Resign(error) {}

func (r *passing) Check() error {
	if r.left.Add(-1) < 0 {
		return fmt.Errorf("somebody else is the server: %w", rpc.ErrAborted)
	}
	return nil
}

// A checkpoint becomes visible only if the server holds its role right before.
func TestRoleCommits(t *testing.T) {
	bucket := &blob.Mem{}
	f := newFleet(t, "mem", 1, bucket, []matrix.Meta{{Name: "a", Rows: 1, Cols: 2, DType: matrix.F64}})
	role := &passing{}
	f.served[0].Role = role
	// Checks: two for the share, three for the commit, two for the end.
	for left, visible := range map[int64]bool{1: false, 2: false, 3: false, 4: true, 6: true, 7: true} {
		role.left.Store(math.MaxInt64)
		f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			path := fmt.Sprint("ck/", left)
			role.left.Store(left)
			err := p.Checkpoint(ctx, path)
			role.left.Store(math.MaxInt64)
			there, serr := bucket.State(ctx, path)
			if (err == nil) != (left == 7) || (there != blob.Nothing) != visible || serr != nil {
				t.Errorf("%d checks: %v, it is there: %v, %v", left, err, there != blob.Nothing, serr)
			}
			return nil
		})
	}
}

// A server whose role is another's serves no request, and what it has served it does not answer; a task that looks for a server under
// another epoch does not get in.
func TestRole(t *testing.T) {
	for _, network := range []string{"mem", "tcp"} {
		t.Run(network, func(t *testing.T) {
			f := newFleet(t, network, 1, &blob.Mem{}, []matrix.Meta{{Name: "a", Rows: 1, Cols: 2, DType: matrix.F64}})
			role := &passing{}
			f.served[0].Role = role
			pull := func(ctx context.Context, p *ps.Client) error {
				_, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "a", Cols: []int64{0}}})
				return err
			}
			for _, left := range []int64{0, 1, 2} {
				role.left.Store(math.MaxInt64)
				f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
					role.left.Store(left)
					err := pull(ctx, p)
					if lost := errors.Is(err, rpc.ErrAborted) && ps.Recoverable(err); lost != (left < 2) {
						t.Errorf("a pull that %d checks let pass: %v", left, err)
					}
					role.left.Store(math.MaxInt64)
					return nil
				})
			}
			for epoch, want := range map[uint64]string{0: "", 3: "", 2: "under epoch 2, and this one has its role under epoch 3", 4: "under epoch 4"} {
				o := ps.Options{Network: f.net, Servers: f.servers, Roles: []uint64{epoch}, Job: fmt.Sprint("job ", epoch), Tasks: 1}
				p, err := ps.Dial(t.Context(), o)
				if err == nil {
					p.Close()
				}
				if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !ps.Recoverable(err)) {
					t.Errorf("epoch %d: %v, want %q", epoch, err, want)
				}
			}
		})
	}
	f := newFleet(t, "mem", 2, &blob.Mem{}, nil)
	o := ps.Options{Network: f.net, Servers: f.servers, Roles: []uint64{1, 1}, Job: "j", Tasks: 1}
	if _, err := ps.Dial(t.Context(), o); err == nil || !strings.Contains(err.Error(), "this one has no role") || !ps.Recoverable(err) {
		t.Errorf("a server without a role: %v", err)
	}
	o.Roles = o.Roles[:1]
	if _, err := ps.Dial(t.Context(), o); err == nil || !strings.Contains(err.Error(), "1 epochs of the roles of 2 servers") {
		t.Errorf("two servers, one epoch: %v", err)
	}
}
