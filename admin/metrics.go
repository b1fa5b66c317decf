package admin

import (
	"context"
	"runtime"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"thole.example/budget"
	"thole.example/rpc"
	"thole.example/server"
)

// kind is how a metric changes.
type kind string

const (
	gauge     kind = "gauge"
	counter   kind = "counter"
	histogram kind = "histogram"
)

// metric is a row of the table of metrics.
type metric struct {
	name   string
	kind   kind
	labels string // between blanks
	help   string
}

// The metrics, in the order of the table. Where clocks are meant, -1 is a task or matrix that has finished.
const (
	buildInfo = iota
	jobs
	tasks
	clocks
	waits
	longestWait
	staged
	partitions
	rows
	columns
	matrixBytes
	diskBytes
	candidates
	fates
	logBytes
	logSince
	logWaiting
	logSynced
	logFull
	baseBytes
	baseAge
	replayRecords
	replayBytes
	replaySeconds
	standbyUncopied
	standbyUnreplayed
	standbyIdle
	standbySynchronous
	standbyThrottled
	standbysDropped
	copyUncopied
	copyUnreplayed
	copyIdle
	copyReads
	replicaStep
	replicaLoads
	replicaBehind
	memoryBytes
	memoryLimit
	connections
	strangers
	accepted
	refused
	running
	queued
	requests
	failures
	tokenConnections
	tokenRequests
	tokenBytes
	tokenPartitions
)

// metrics is the table of what is measured, beside what client_golang measures of Go and of the process.
func metrics() []metric {
	return []metric{
		{"thole_build_info", gauge, "version go", "1; the labels say which program this is"},
		{"thole_jobs", gauge, "", "jobs that tasks are part of"},
		{"thole_job_tasks", gauge, "job status", "tasks that have joined, by status: here, away, left, lost"},
		{"thole_clock", gauge, "job matrix which", "clock of the slowest or fastest task; matrix is empty for the job's own clock; -1: finished"},
		{"thole_waiting_requests", gauge, "job", "requests that wait for clocks"},
		{"thole_longest_wait_seconds", gauge, "job", "how long the first of them has waited"},
		{"thole_staged_deltas", gauge, "job matrix", "deltas that are not due"},
		{"thole_partitions", gauge, "job matrix", "partitions on this server"},
		{"thole_rows", gauge, "job matrix", "rows of the matrix"},
		{"thole_columns", gauge, "job matrix", "columns that the partitions on this server have stored, added up"},
		{"thole_matrix_bytes", gauge, "job matrix", "bytes in memory of the partitions on this server, with the state of the rule"},
		{"thole_matrix_disk_bytes", gauge, "job matrix", "bytes of rows on disk that memory has no room for"},
		{"thole_candidates", gauge, "job matrix", "columns that gradients have named and that are not made yet"},
		{"thole_column_fates_total", counter, "job matrix fate", "columns admitted, refused, expired or evicted by the settings of the matrix"},
		{"thole_log_appended_bytes_total", counter, "job", "bytes of the job's log on this server since it began, also those that are gone"},
		{"thole_log_since_base_bytes", gauge, "job", "bytes of the log since its base, or since it began"},
		{"thole_log_waiting_bytes", gauge, "job", "bytes of the log that are not on disk yet"},
		{"thole_log_synced", gauge, "job", "1: what is acknowledged is on disk; 0: the system may have it yet"},
		{"thole_log_full_seconds", gauge, "job", "time since the disk of the log is full, while tasks wait for room; 0: it has room"},
		{"thole_log_base_bytes", gauge, "job", "bytes of the base of the log; 0: it has none"},
		{"thole_log_base_age_seconds", gauge, "job", "time since that was made; 0: it has none, or that is not known"},
		{"thole_log_replayed_records", gauge, "job", "records that were read after the base when the server was started"},
		{"thole_log_replayed_bytes", gauge, "job", "bytes of those"},
		{"thole_log_replay_seconds", gauge, "job", "time that reading them and the base took"},
		{"thole_standby_uncopied_bytes", gauge, "standby", "bytes of logs and their bases that a standby has not acknowledged"},
		{"thole_standby_unreplayed_bytes", gauge, "standby", "bytes that the standby has and has not replayed, as it last reported"},
		{"thole_standby_idle_seconds", gauge, "standby", "time since the last progress of the standby; 0: it has everything"},
		{"thole_standby_synchronous", gauge, "standby", "1: acknowledgements wait for the standby, which can take over; 0: it catches up"},
		{"thole_standby_throttled", gauge, "standby", "1: pushes are throttled until the standby has caught up"},
		{"thole_standbys_dropped_total", counter, "", "standbys that were dropped because they did not keep up"},
		{"thole_copy_uncopied_bytes", gauge, "", "at a standby (0 elsewhere): bytes of logs and their bases that it has not copied"},
		{"thole_copy_unreplayed_bytes", gauge, "", "at a standby: bytes that it has copied and not replayed"},
		{"thole_copy_idle_seconds", gauge, "", "at a standby: time since its last progress; 0: it has everything"},
		{"thole_copy_reads_total", counter, "", "requests of readers that were answered from the copy of another server's job"},
		{"thole_replica_step", gauge, "", "at a server of checkpoints (0 elsewhere): steps made at the checkpoint that it serves"},
		{"thole_replica_loads_total", counter, "", "checkpoints that it has loaded"},
		{"thole_replica_behind", gauge, "", "1: it does not serve the newest checkpoint, or has none; thole status says why"},
		{"thole_memory_bytes", gauge, "class", "bytes of the ledger by class: " + classNames()},
		{"thole_memory_limit_bytes", gauge, "", "bytes that all classes may take together; 0: no bound"},
		{"thole_connections", gauge, "", "open connections"},
		{"thole_strangers", gauge, "", "open connections that have not greeted, or not proven a token"},
		{"thole_accepted_connections_total", counter, "", "connections that came"},
		{"thole_refused_total", counter, "reason", "connections and requests refused: magic, version, tls, token, late, crowd, right, limit"},
		{"thole_running_requests", gauge, "", "requests that are not answered"},
		{"thole_queue_bytes", gauge, "", "bytes of answers that wait to be written"},
		{"thole_request_seconds", histogram, "op", "time from when a request was read until it was answered, waiting for clocks included"},
		{"thole_request_errors_total", counter, "op", "requests that were answered with an error"},
		{"thole_token_connections", gauge, "token", "open connections"},
		{"thole_token_requests_total", counter, "token", "requests answered"},
		{"thole_token_bytes", gauge, "token", "bytes of matrices that were made with the token"},
		{"thole_token_partitions", gauge, "token", "partitions of those"},
	}
}

// descriptions are what client_golang wants to know of the metrics, in their order.
func descriptions() (all []*prometheus.Desc) {
	for _, m := range metrics() {
		all = append(all, prometheus.NewDesc(m.name, m.help, strings.Fields(m.labels), nil))
	}
	return all
}

// collector looks at the server whenever somebody wants the metrics, and only then.
type collector struct{ a *Admin }

// Describe implements prometheus.Collector.
func (collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range descriptions() {
		to <- d
	}
}

// scrape is one look.
type scrape struct {
	descs []*prometheus.Desc
	table []metric
	to    chan<- prometheus.Metric
}

func (s *scrape) put(which int, v float64, labels ...string) {
	k := prometheus.GaugeValue
	if s.table[which].kind == counter {
		k = prometheus.CounterValue
	}
	for i, l := range labels {
		labels[i] = strings.ToValidUTF8(l, "\uFFFD")
	}
	s.to <- prometheus.MustNewConstMetric(s.descs[which], k, v, labels...)
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	status := c.a.Status(ctx)
	s := &scrape{descriptions(), metrics(), to}
	s.put(buildInfo, 1, c.a.Version, runtime.Version())
	s.put(jobs, float64(len(status.Jobs)))
	for i := range status.Jobs {
		s.job(&status.Jobs[i])
	}
	s.copies(&status)
	for class, n := range status.Memory.Used {
		s.put(memoryBytes, float64(n), class)
	}
	s.put(memoryLimit, float64(status.Memory.Limit))
	net := &status.Stats
	s.put(connections, float64(net.Connections))
	s.put(strangers, float64(net.Strangers))
	s.put(accepted, float64(net.Accepted))
	s.put(running, float64(net.Running))
	s.put(queued, float64(net.Queued))
	for reason, n := range net.Refused {
		s.put(refused, float64(n), reason)
	}
	for i := range status.Operations {
		s.operation(&status.Operations[i])
	}
	for _, t := range status.Tokens {
		s.put(tokenConnections, float64(t.Connections), t.Name)
		s.put(tokenRequests, float64(t.Requests), t.Name)
		s.put(tokenBytes, float64(t.Bytes), t.Name)
		s.put(tokenPartitions, float64(t.Partitions), t.Name)
	}
}

func (s *scrape) job(j *server.JobStatus) {
	states := map[string]int{"here": 0, "away": 0, "left": 0, "lost": 0}
	for _, t := range j.Tasks {
		states[t.Status]++
	}
	for status, n := range states {
		s.put(tasks, float64(n), j.Job, status)
	}
	for i, m := range j.Clocks {
		s.put(clocks, float64(m.Slowest), j.Job, m.Matrix, "slowest")
		s.put(clocks, float64(m.Fastest), j.Job, m.Matrix, "fastest")
		if i > 0 {
			s.put(staged, float64(m.Staged), j.Job, m.Matrix)
		}
	}
	s.put(waits, float64(len(j.Waits)), j.Job)
	longest := 0.0
	for _, w := range j.Waits {
		longest = max(longest, w.Since.Seconds())
	}
	s.put(longestWait, longest, j.Job)
	for _, m := range j.Tables {
		s.put(partitions, float64(m.Partitions), j.Job, m.Name)
		s.put(rows, float64(m.Rows), j.Job, m.Name)
		s.put(columns, float64(m.Columns), j.Job, m.Name)
		s.put(matrixBytes, float64(m.Bytes), j.Job, m.Name)
		s.put(diskBytes, float64(m.OnDisk), j.Job, m.Name)
		s.put(candidates, float64(m.Candidates), j.Job, m.Name)
		s.put(fates, float64(m.Admitted), j.Job, m.Name, "admitted")
		s.put(fates, float64(m.Refused), j.Job, m.Name, "refused")
		s.put(fates, float64(m.Expired), j.Job, m.Name, "expired")
		s.put(fates, float64(m.Evicted), j.Job, m.Name, "evicted")
	}
	if j.Log != nil {
		s.log(j.Job, j.Log)
	}
}

func (s *scrape) copies(status *Status) {
	flag := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	for _, c := range status.Standbys {
		s.put(standbyUncopied, float64(c.Uncopied), c.At)
		s.put(standbyUnreplayed, float64(c.Unreplayed), c.At)
		s.put(standbyIdle, c.Idle, c.At)
		s.put(standbySynchronous, flag(c.Synchronous), c.At)
		s.put(standbyThrottled, flag(c.Throttled), c.At)
	}
	s.put(standbysDropped, float64(status.Dropped))
	var copied server.CopyStatus
	if status.Copy != nil {
		copied = *status.Copy
	}
	s.put(copyUncopied, float64(copied.Uncopied))
	s.put(copyUnreplayed, float64(copied.Unreplayed))
	s.put(copyIdle, copied.Idle)
	s.put(copyReads, float64(status.CopyReads))
	var served server.ReplicaStatus
	if status.Replica != nil {
		served = *status.Replica
	}
	step := 0
	if served.Checkpoint != nil {
		step = served.Checkpoint.Step
	}
	s.put(replicaStep, float64(step))
	s.put(replicaLoads, float64(served.Loads))
	s.put(replicaBehind, flag(served.Error != ""))
}

func (s *scrape) log(job string, l *server.LogStatus) {
	s.put(logBytes, float64(l.End), job)
	s.put(logSince, float64(l.Since), job)
	s.put(logWaiting, float64(l.Waiting), job)
	synced := 0.0
	if l.Synced {
		synced = 1
	}
	s.put(logSynced, synced, job)
	full := 0.0
	if l.Full != nil {
		full = l.Full.Seconds
	}
	s.put(logFull, full, job)
	var base server.BaseStatus
	if l.Base != nil {
		base = *l.Base
	}
	s.put(baseBytes, float64(base.Bytes), job)
	s.put(baseAge, base.Age, job)
	var replay server.ReplayStatus
	if l.Replay != nil {
		replay = *l.Replay
	}
	s.put(replayRecords, float64(replay.Records), job)
	s.put(replayBytes, float64(replay.Bytes), job)
	s.put(replaySeconds, replay.Seconds, job)
}

func (s *scrape) operation(o *Operation) {
	sum, below := uint64(0), map[float64]uint64{}
	for b, n := range o.Buckets[:rpc.Buckets-1] {
		sum += n
		below[rpc.Bound(b).Seconds()] = sum
	}
	s.to <- prometheus.MustNewConstHistogram(s.descs[requests], o.Requests, float64(o.Nanos)/1e9, below, o.Name)
	s.put(failures, float64(o.Errors), o.Name)
}

// classNames are the classes of the ledger between commas.
func classNames() string {
	var all []string
	for c := range budget.Classes {
		all = append(all, c.String())
	}
	return strings.Join(all, ", ")
}
