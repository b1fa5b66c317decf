package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"thole.example/access"
	"thole.example/launch/slurm"
)

// slurmWords says what the processes are told.
func (l *launch) slurmWords(e *env, p *plan, j *slurm.Job) error {
	best := filepath.Join(j.Dir, "best")
	saved := []string{l.model, l.load, l.loadState, l.checkpoint, l.resume}
	store, err := storeOf(append(saved, best)...)
	if err != nil {
		return err
	}
	coordinate := slurm.Quote("--coordinate=" + (&url.URL{Scheme: "dir", Path: filepath.Join(j.Dir, "coordination"), OmitHost: true}).String())
	memory := slurm.Word(`${memory:+"--memory=$memory"}`)
	if l.memory != "" {
		memory = slurm.Quote("--memory=" + l.memory)
	}
	server := []slurm.Word{`--listen="$host:$port"`, `--role="$rank"`, coordinate, slurm.Quote("--store=" + store), "--" + tiedFlag, memory}
	for _, url := range storesOf(saved...) {
		server = append(server, slurm.Quote("--store="+url))
	}
	if there(filepath.Join(j.Dir, tokensFile)) {
		server = append(server, slurm.Quote("--tokens="+filepath.Join(j.Dir, tokensFile)))
	}
	if l.noChecksum {
		server = append(server, "--no-checksum")
	}
	if l.serverLog {
		server = append(server, slurm.Quote("--log="+strings.TrimSuffix(serverLog(j.Dir, 0), "0"))+`"$rank"`)
	}
	j.Servers.Args = server
	tasks := fmt.Sprintf(`--task=$((rank * %d / %d))-$(((rank + 1) * %[1]d / %[2]d - 1))`, l.tasks, l.workers)
	worker := []slurm.Word{slurm.Word(tasks), coordinate, "--" + tiedFlag}
	args := append(l.common([]string{fmt.Sprint(l.servers)}, store), "--best="+best)
	if there(filepath.Join(j.Dir, secretFile)) {
		args = append(args, "--token-file="+filepath.Join(j.Dir, secretFile))
	}
	if !gives(l.user, "wait") {
		args = append(args, "--wait="+l.wait.String())
	}
	for _, arg := range args {
		worker = append(worker, slurm.Quote(arg))
	}
	if p.forest == nil { // trees have no bound
		worker = append(worker, memory)
	}
	first := []string{"--log=" + l.slurmProgress(j.Dir), "--append-log", "--runs=" + runsAt(l.runs)}
	for _, word := range e.args {
		first = append(first, "--asked="+word)
	}
	others := []string{"--log=", "--runs=" + runsNone} // whatever --job says
	if l.giveUp > 0 {
		others = append(others, "--leave")
	}
	j.Workers.Args, j.Workers.First, j.Workers.Others = worker, quotedWords(first), quotedWords(others)
	return nil
}

// quotedWords are texts as words of the shell.
func quotedWords(texts []string) (all []slurm.Word) {
	for _, text := range texts {
		all = append(all, slurm.Quote(text))
	}
	return all
}

// Files of the token that the processes of a launch have.
const (
	tokensFile = "tokens"
	secretFile = "token"
)

// makeToken makes a token for the processes of a launch: others use the same nodes, and reach its servers. Only its owner can read it.
func makeToken(dir string) error {
	t := access.Token{Name: "launch", Rights: access.Write}
	secret := access.NewSecret()
	t.Key = secret.Key()
	for name, line := range map[string]string{tokensFile: t.String(), secretFile: secret.Text()} {
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a launch before
			return err
		}
		if err := os.WriteFile(path, []byte(line+"\n"), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// there reports whether a path leads to something.
func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
