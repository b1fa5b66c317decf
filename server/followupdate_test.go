package server_test

import (
	"testing"
	"time"

	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
)

// TestCheckpointAmongUpdates: a checkpoint is taken although readers update all the time, one beginning before another ends.
func TestCheckpointAmongUpdates(t *testing.T) {
	slow := everywhere("slow", func(v psf.View) ([]byte, error) {
		time.Sleep(time.Second)
		return nil, changeAll(v, func(x float64) float64 { return x + 1 })
	}, nil)
	bubble(t, "readers", func(t *testing.T) {
		s := serve(t, func(s *server.Server) { s.Funcs = table(t, slow) })
		c := s.join(0, 1, ssp.BSP)
		m := c.create(one("m", 1, 10))[0]
		over := make(chan struct{})
		ended := make(chan int)
		for i := range 2 {
			reader := s.dial()
			reader.must(rpc.Request{Op: rpc.OpFollow, Arg: arg(rpc.Follow{Job: "j"})})
			go func() {
				n := 0
				defer func() { ended <- n }()
				time.Sleep(time.Duration(i) * time.Second / 2)
				for ; n < 60; n++ {
					select {
					case <-over:
						return
					default:
						reader.must(function(rpc.OpUpdate, "slow", "", m))
					}
				}
			}()
		}
		time.Sleep(5*time.Second + time.Second/4)
		c.wait(c.checkpointing("c", 0, m))
		close(over)
		if n := <-ended + <-ended; n >= 100 {
			t.Errorf("the checkpoint was taken after all %d updates", n)
		}
		c.leave()
	})
}
