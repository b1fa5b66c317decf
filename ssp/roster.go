package ssp

// missingLimit is how many missing tasks an answer names.
const missingLimit = 16

// roster waits for tasks to join.
type roster[D any, R comparable] struct {
	Members[R]
	of *member[D, R]
}

func (j *Job[D, R]) roster(e *Members[R]) {
	m := j.worker(e.Conn, e.Req)
	if m == nil {
		return
	}
	j.rosters = append(j.rosters, roster[D, R]{*e, m})
	j.arrived()
}

// arrived answers those who know less of the members than the job does.
func (j *Job[D, R]) arrived() {
	j.rosters = keep(j.rosters, func(r *roster[D, R]) bool {
		if j.joined <= r.Joined && j.joined < len(j.members) && j.refusals <= r.Refusals {
			return true
		}
		j.do(Roster[R]{r.Req, j.joined, j.missing(), j.refusals, j.reason})
		return false
	})
}

func (j *Job[D, R]) missing() (tasks []int) {
	for t, m := range j.members {
		if len(tasks) == missingLimit {
			break
		}
		if m == nil || m.status == Claimed {
			tasks = append(tasks, t)
		}
	}
	return tasks
}
