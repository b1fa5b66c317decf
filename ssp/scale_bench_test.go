package ssp_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"thole.example/ssp"
)

// BenchmarkClock is a clock of a job of many tasks: each pushes a delta to one matrix, ends its clocks and pulls for the next. An operation
// is an event, of which a clock has two for each task; bytes/task is what a server keeps of a task that has joined.
func BenchmarkClock(b *testing.B) {
	for _, tasks := range []int{10, 1000, 10_000} {
		for _, bound := range []ssp.Bound{ssp.BSP, 3, ssp.ASP} {
			b.Run(fmt.Sprintf("%d/%v", tasks, bound), func(b *testing.B) {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				j := ssp.NewJob[int, int]("j")
				for task := range tasks {
					one(b, j, ssp.Join[int]{Req: task, Conn: int64(task + 1), Task: task, Tasks: tasks, Bound: bound, Plan: "rate=0.1 seed=1",
						Name: fmt.Sprintf("10.0.%d.%d:40000", task/256, task%256), Worker: fmt.Sprintf("%026d", task),
						Client: fmt.Sprintf("%026d", task), Grace: time.Minute})
				}
				one(b, j, ssp.Create[int]{Conn: 1, Matrices: []ssp.Matrix{{ID: 1, Name: "w", Rule: true}}})
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportAllocs()
				task, clock := 0, 0
				for i := range b.N {
					if i%2 == 1 {
						j.Step(0, ssp.Pull[int]{Req: task, Conn: int64(task + 1), Needs: []ssp.Need{{Matrix: 1, Clock: clock + 1}}})
						if task++; task == tasks {
							task, clock = 0, clock+1
						}
						continue
					}
					j.Step(0, ssp.Push[int, int]{Req: task, Conn: int64(task + 1), Seq: uint64(clock + 1),
						Deltas: []ssp.Delta[int]{{Matrix: 1, Clock: clock, Data: i}},
						Ticks:  []ssp.Tick{{Matrix: 0, Clock: clock}, {Matrix: 1, Clock: clock, Weight: 1, Rate: 0.1}}})
				}
				if err := j.Failed(); err != nil || j.ClockOf(0, 1) < clock {
					b.Fatalf("at clock %d: %v", clock, err)
				}
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(tasks), "bytes/task")
			})
		}
	}
}
