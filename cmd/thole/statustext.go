package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"thole.example/admin"
	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/server"
)

// printStatus prints what a server answered, and what has happened since it was looked at before, if it was.
func printStatus(out io.Writer, now, before *look) {
	s := now.status
	if s == nil {
		fmt.Fprintf(out, "%s: no answer: %v\n", now.addr, now.err)
		return
	}
	fmt.Fprintf(out, "server %s, up for %v, %s\n", s.Address, whole(s.Uptime), escaped(strings.TrimSpace(firstLine(s.Version))))
	if s.Name != "" {
		fmt.Fprintf(out, "name %s", escaped(s.Name))
		if s.Number != nil {
			fmt.Fprintf(out, ", server %d", *s.Number)
		}
		fmt.Fprintln(out)
	}
	printMemory(out, &s.Memory)
	fmt.Fprintf(out, "network: %d connections, %d requests under way, %s of answers queued", s.Stats.Connections, s.Stats.Running,
		format.Bytes(s.Stats.Queued))
	if s.Stats.Strangers > 0 {
		fmt.Fprintf(out, ", %d strangers", s.Stats.Strangers)
	}
	if text := counts(s.Stats.Refused); text != "" {
		fmt.Fprintf(out, "; refused: %s", text)
	}
	fmt.Fprintln(out)
	printOperations(out, now, before)
	printTokens(out, s.Tokens)
	printCopies(out, s)
	if s.Replica != nil {
		fmt.Fprintln(out, escaped(replicaText(s)))
		if s.Replica.Error != "" {
			fmt.Fprintf(out, "the newest checkpoint is not served: %s\n", escaped(s.Replica.Error))
		}
	}
	for i := range s.Jobs {
		printJob(out, &s.Jobs[i])
	}
}

// printCopies prints how far copies of the server's logs are behind, and its own copy of another's.
func printCopies(out io.Writer, s *admin.Status) {
	for i := range s.Standbys {
		fmt.Fprintf(out, "standby %s\n", escaped(copyLine(&s.Standbys[i])))
	}
	if s.Dropped > 0 {
		fmt.Fprintf(out, "dropped because they did not keep up: %s\n", number.Of(int(s.Dropped), "standby", "standbys"))
	}
	if s.Copy != nil {
		fmt.Fprintf(out, "standby, copies the logs of the server that has the role: %s\n", copyText(s.Copy))
		fmt.Fprintf(out, "answered from the copy: %s\n", number.Of(int(s.CopyReads), "read"))
	}
}

// copyLine says which standby it is and how far it is behind.
func copyLine(c *server.CopyStatus) string {
	state := "catching up"
	switch {
	case c.Synchronous:
		state = "synchronous"
	case c.Throttled:
		state = "catching up while pushes are throttled"
	}
	text := fmt.Sprintf("%s: %s, %s", c.At, state, copyText(c))
	if c.Full {
		text += ", ITS DISK IS FULL: it cannot take over"
	}
	if c.Reads != "" {
		text += ", answers readers at " + c.Reads
	}
	return text
}

// copyText says how far a copy is behind.
func copyText(c *server.CopyStatus) string {
	if c.Uncopied+c.Unreplayed == 0 {
		return "has everything"
	}
	text := fmt.Sprintf("%s to copy, %s to replay", format.Bytes(int64(c.Uncopied)), format.Bytes(int64(c.Unreplayed)))
	if c.Stalled {
		return text + fmt.Sprintf(", STALLED: no progress for %v", whole(c.Idle))
	}
	return text + fmt.Sprintf(", last progress %.1fs ago", c.Idle)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// whole is a number of seconds as people read it.
func whole(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second)
}

// counts lists those that are not 0.
func counts(of map[string]uint64) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if n := of[name]; n > 0 {
			words = append(words, fmt.Sprintf("%s %d", name, n))
		}
	}
	return strings.Join(words, ", ")
}

func printMemory(out io.Writer, m *admin.Memory) {
	total, words := int64(0), []string{}
	for _, class := range slices.Sorted(maps.Keys(m.Used)) {
		if n := m.Used[class]; n > 0 {
			total += n
			words = append(words, fmt.Sprintf("%s %s", class, format.Bytes(n)))
		}
	}
	fmt.Fprintf(out, "memory: %s", format.Bytes(total))
	if m.Limit > 0 {
		fmt.Fprintf(out, " of %s", format.Bytes(m.Limit))
	}
	if len(words) > 0 {
		fmt.Fprintf(out, ": %s", strings.Join(words, ", "))
	}
	fmt.Fprintln(out)
}

// aligned prints rows, of which the first has the titles.
func aligned(out io.Writer, rows [][]string) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		for i := range r {
			r[i] = escaped(r[i])
		}
		fmt.Fprintf(w, "  %s\n", strings.Join(r, "\t"))
	}
	_ = w.Flush() // what out says is looked after where it was made
}

func printOperations(out io.Writer, now, before *look) {
	rows := [][]string{{"operation", "requests", "a second", "errors", "p50", "p99"}}
	for _, o := range now.status.Operations {
		m, rate := o.Measure, "-"
		if before != nil {
			for _, b := range before.status.Operations {
				if b.Name == o.Name {
					m = o.Since(&b.Measure)
				}
			}
			if seconds := now.at.Sub(before.at).Seconds(); seconds > 0 {
				rate = fmt.Sprintf("%.1f", float64(m.Requests())/seconds)
			}
		}
		p50, p99 := "-", "-"
		if m.Requests() > 0 {
			p50, p99 = latency(m.Quantile(0.5)), latency(m.Quantile(0.99))
		}
		rows = append(rows, []string{o.Name, fmt.Sprint(o.Requests), rate, fmt.Sprint(o.Errors), p50, p99})
	}
	if len(rows) > 1 {
		aligned(out, rows)
	}
}

// latency is a latency with the two digits that it may have.
func latency(d time.Duration) string {
	unit := time.Nanosecond
	for d/unit >= 100 {
		unit *= 10
	}
	return d.Round(unit).String()
}

func printTokens(out io.Writer, all []admin.Token) {
	rows := [][]string{{"token", "rights", "connections", "requests", "bytes", "partitions", "limits"}}
	for _, t := range all {
		rows = append(rows, []string{t.Name, t.Rights, fmt.Sprint(t.Connections), fmt.Sprint(t.Requests), format.Bytes(t.Bytes),
			fmt.Sprint(t.Partitions), orDash(t.Limits)})
	}
	if len(rows) > 1 {
		aligned(out, rows)
	}
}

func printJob(out io.Writer, j *server.JobStatus) {
	for line := range strings.Lines(j.String()) {
		fmt.Fprintln(out, escaped(strings.TrimSuffix(line, "\n")))
	}
	if j.Log != nil {
		fmt.Fprintf(out, "  %s\n", escaped(logText(j.Log)))
	}
	rows := [][]string{{"matrix", "type", "layout", "bound", "rule", "rows", "columns", "stored", "partitions", "bytes", "clock"}}
	for _, m := range j.Tables {
		clock := fmt.Sprint(m.Slowest)
		if m.Slowest < 0 {
			clock = "finished"
		}
		if m.Storage != "" {
			m.Type += " as " + m.Storage
		}
		taken := format.Bytes(m.Bytes)
		if m.OnDisk > 0 {
			taken += " + " + format.Bytes(m.OnDisk) + " on disk"
		}
		rows = append(rows, []string{m.Name, m.Type, m.Layout, m.Bound, orDash(m.Rule), fmt.Sprint(m.Rows), fmt.Sprint(m.Cols),
			fmt.Sprint(m.Columns), fmt.Sprintf("%d of %d", m.Partitions, m.Everywhere), taken, clock})
	}
	if len(rows) > 1 {
		aligned(out, rows)
	}
	printFates(out, j.Tables)
}

// logText says how the log of a job is.
func logText(l *server.LogStatus) string {
	text := fmt.Sprintf("log %s: %s since ", l.Name, format.Bytes(int64(l.Since)))
	switch b := l.Base; {
	case b == nil:
		text += "it began"
	case b.Made.IsZero():
		text += fmt.Sprintf("its base of %s at position %d", format.Bytes(b.Bytes), b.Position)
	default:
		text += fmt.Sprintf("its base of %s at position %d, made %v ago", format.Bytes(b.Bytes), b.Position, whole(b.Age))
	}
	if text += fmt.Sprintf(" (next base after %s)", format.Bytes(l.Most)); l.Basing {
		text += ", which is being written"
	}
	if l.Synced {
		text += "; synced"
	} else {
		text += "; not synced"
	}
	if l.Waiting > 0 {
		text += fmt.Sprintf(", %s not on disk yet", format.Bytes(int64(l.Waiting)))
	}
	if r := l.Replay; r != nil {
		text += fmt.Sprintf("; at the start %s with %s replayed in %v", number.Of(int(r.Records), "record"), format.Bytes(r.Bytes),
			time.Duration(r.Seconds*float64(time.Second)).Round(time.Millisecond))
	}
	if f := l.Full; f != nil {
		text += fmt.Sprintf("; DISK FULL for %v, the tasks wait, after %v (--log-wait) a standby takes over or the job fails: %s",
			whole(f.Seconds), whole(f.Wait), f.Error)
	}
	if l.Error != "" {
		text += "; it takes nothing any more: " + l.Error
	}
	return text
}

// printFates tells what became of columns where they come and go.
func printFates(out io.Writer, all []server.MatrixStatus) {
	rows := [][]string{{"columns of", "admitted", "waiting", "refused", "expired", "evicted"}}
	for _, m := range all {
		fates := []int64{m.Admitted, m.Candidates, m.Refused, m.Expired, m.Evicted}
		if slices.Max(fates) == 0 {
			continue
		}
		row := []string{m.Name}
		for _, n := range fates {
			row = append(row, fmt.Sprint(n))
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		aligned(out, rows)
	}
}
