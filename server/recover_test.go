package server_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/budget"
	"thole.example/internal/seeds"
	"thole.example/journal/journaltest"
	"thole.example/matrix"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
)

// TestRecover kills servers with logs while jobs run through faults, and starts them again: every job ends as if nothing had happened.
// No change that was acknowledged is lost, none is made twice, and under BSP every task reads the same bits.
func TestRecover(t *testing.T) {
	set := seeds.Of(t, "FAULT", 500, 60).Part(4)
	kills, bases := 0, 0
	for seed := range set.All() {
		sc := newScenario(seed)
		sc.outage, sc.killed = noOutage, true
		set.Try(t, seed, sc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { sc.tryKilled(t, &kills, &bases) })
		})
	}
	t.Logf("%d seeds, %d servers killed, %d logs with a base then", set.Count, kills, bases)
	if (kills == 0 || bases == 0) && set.Count > 2 {
		t.Error("no server was killed, or none that had written a base")
	}
}

// tryKilled runs the scenario while its servers are killed, and counts how often, and the bases that were there then.
func (sc *scenario) tryKilled(t *testing.T, kills, bases *int) {
	f := newFarm(t, 0, sc)
	k := newKiller(t, sc, f)
	over := make(chan struct{})
	done := make(chan struct{})
	go func() { defer close(done); k.run(over) }()
	out := sc.run(f)
	close(over)
	<-done
	sc.judge(t, out, map[string]int{})
	f.faults.Wait()
	time.Sleep(2 * time.Hour)
	synctest.Wait()
	for i, s := range f.servers {
		if used := s.Ledger.Used(); used.Total() != 0 {
			t.Errorf("server %d: bytes in use when all has ended: %v", i, used)
		}
		if names, err := k.disks[i].Now().List(); err != nil || len(names) != 0 {
			t.Errorf("server %d: logs %q, %v when all has ended, want none", i, names, err)
		}
	}
	if out[0].err == nil {
		sc.checkSaved(t, f, &out[0])
	}
	f.close()
	if sc.bound == ssp.BSP && out[0].err == nil {
		sc.compare(t, out)
	}
	time.Sleep(time.Hour) // also the job that looked at what was saved writes a base
	synctest.Wait()
	*kills, *bases = *kills+k.kills, *bases+k.bases
}

// killer kills the servers of a farm, and starts them again.
type killer struct {
	t     *testing.T
	sc    *scenario
	farm  *farm
	disks []*journaltest.Disk
	rng   *rand.Rand
	kills int
	bases int // that there were when a server was killed
	limit int64
}

// newKiller starts the servers of a farm with logs.
func newKiller(t *testing.T, sc *scenario, f *farm) *killer {
	k := &killer{t: t, sc: sc, farm: f, rng: rand.New(rand.NewPCG(sc.seed, 4711)), limit: sc.base}
	if k.limit == 0 {
		k.limit = 1 << (8 + k.rng.IntN(11))
	}
	for i := range sc.servers {
		d := journaltest.NewDisk(sc.seed + uint64(i))
		d.Slow = time.Duration(k.rng.IntN(200)) * time.Millisecond
		k.disks = append(k.disks, d)
		f.addrs, f.servers, f.listeners = append(f.addrs, "s"+strconv.Itoa(i)), append(f.servers, nil), append(f.listeners, nil)
		k.start(i)
	}
	return k
}

// start starts a server.
func (k *killer) start(i int) {
	f := k.farm
	s := &server.Server{Funcs: table(k.t, more), Codecs: codecs, Bucket: f.bucket, Ledger: budget.New(64 << 20), Modules: k.sc.modules,
		Logs: k.disks[i].Start(), LogBase: k.limit}
	go s.Relieve(f.ctx)
	if err := s.Recover(f.ctx); err != nil {
		k.t.Error(err)
		return
	}
	var l rpc.Listener
	var err error
	for range 100 { // its address may not be free yet
		if l, err = f.net.Listen(f.ctx, f.addrs[i], s); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		k.t.Error(err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.servers[i], f.listeners[i] = s, l
}

// kill ends a server: what it writes from now on is nowhere.
func (k *killer) kill(i int) {
	_ = k.farm.listeners[i].Close()
	k.bases += k.disks[i].Bases()
	k.disks[i].Start()
	if k.rng.IntN(2) == 0 {
		k.disks[i].Power()
	}
	k.kills++
}

func (k *killer) killed() int { return k.kills }

// end does nothing: the servers end with their farm.
func (k *killer) end() {}

// run kills servers until the tasks are over.
func (k *killer) run(over chan struct{}) {
	for {
		wait := time.Duration(50+k.rng.IntN(3000)) * time.Millisecond
		select {
		case <-over:
			return
		case <-time.After(wait):
		}
		some := []int{k.rng.IntN(k.sc.servers)}
		if k.rng.IntN(4) == 0 {
			some = k.rng.Perm(k.sc.servers)
		}
		if k.rng.IntN(2) == 0 { // when something is not durable yet
			d := k.disks[some[0]]
			for range 1 + k.rng.IntN(20) {
				select {
				case <-d.Syncing:
				case <-time.After(10 * time.Second):
				}
			}
			time.Sleep(time.Duration(k.rng.Int64N(int64(d.Slow) + 1)))
		}
		for _, i := range some {
			k.kill(i)
		}
		time.Sleep(time.Duration(k.rng.IntN(2000)) * time.Millisecond)
		for _, i := range some {
			k.start(i)
		}
	}
}

// TestRecoverSameBits trains a matrix of each kind while its servers are killed, and wants the bits of an undisturbed training.
func TestRecoverSameBits(t *testing.T) {
	kills := 0
	for i, m := range kindsOfMatrices() {
		t.Run(fmt.Sprintf("%v/%v/%v/%s", m.DType, m.Storage, m.Layout, m.Rule), func(t *testing.T) {
			cut := "column"
			if m.Layout == matrix.RowSparse && i%2 == 0 {
				cut = "hash"
			}
			want := train(newCluster(t, &mem.Network{}, 1), cut, m)
			synctest.Test(t, func(t *testing.T) {
				f := newFarm(t, 0, nil)
				defer f.close()
				k := newKiller(t, &scenario{seed: uint64(i), servers: 2}, f)
				over, done := make(chan struct{}), make(chan struct{})
				go func() { defer close(done); k.run(over) }()
				got := train(&cluster{t: t, net: f.net, addrs: f.addrs, retry: time.Hour}, cut, m)
				close(over)
				<-done
				kills += k.kills
				time.Sleep(2 * time.Hour) // until nobody is waited for any more, by a server that was killed neither
				synctest.Wait()
				if !slices.Equal(got, want) {
					t.Errorf("bits differ from those of a training in which no server was killed; %d were", k.kills)
				}
			})
		})
	}
	if kills == 0 {
		t.Error("no server was killed")
	}
	t.Logf("%d servers killed", kills)
}
