
# say TEXT: a line about a process, in its log and in that of the job.
say() {
	printf '==== %s %s %s\n' "$(date +%FT%T%z)" "$name" "$1" >>"$log"
	printf '%s %s\n' "$name" "$1"
}

# now PHASE: how the process is, for thole launch status.
now() {
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$SLURMD_NODENAME" "$1" "${child:-0}" "$again" "$(date +%s)" "$last" >"$dir/.$name.$attempt" &&
		mv -f -- "$dir/.$name.$attempt" "$dir/$name.now"
}

# fail STATUS TEXT: ends the step, and with it the job. The first one to fail says why.
fail() {
	(set -C && printf '%s %s %s\n' "$1" "$name" "$2" >"$dir/failed.$attempt") 2>/dev/null
	exit "$1"
}

# together: this node has the folders and the program of the job. What another node has just made may be seen late.
together() {
	local tries
	for tries in {1..60}; do
		[ -e "$dir/began.$attempt" ] && break
		[ "$tries" -lt 60 ] || { echo "$name: $host does not see $dir/began.$attempt: want a folder that all nodes share" >&2; exit 1; }
		sleep 1
	done
	cd -- "$folder" || fail 1 "on $host does not see $folder: want a folder that all nodes share"
	[ -x "$program" ] || fail 1 "on $host does not see $program: want it in a folder that all nodes share"
}

# tell: asks the process to end, once: a second time it would end without a checkpoint.
tell() {
	[ -z "$child" ] || [ "$told" = "$child" ] || kill -TERM "$child" 2>/dev/null
	told=$child
}

# reach: the name of this node, or an address where its name is one that only it itself knows.
reach() {
	host=$SLURMD_NODENAME
	case $(getent ahosts "$host" | head -n 1) in
	127.* | ::1* | '') host=$(hostname -I | cut -d ' ' -f 1) ;;
	esac
	[ -n "$host" ] || host=$SLURMD_NODENAME
}

# keep KIND CPUS MEMORY: runs the process of this task until it is done, and starts it again when it was killed or says that another try may do (75).
keep() {
	local kind=$1 asked='' child='' told='' again=0 last='' port=0 pause=0 hit code began size
	local pauses=(0.1 0.2 0.5 1 2 5 10)
	export GOMAXPROCS=$2 # processors that Go sees are the node's, where Slurm does not confine tasks
	memory=$3 rank=$SLURM_PROCID name=$1.$SLURM_PROCID log=$dir/$1.$SLURM_PROCID.log
	trap 'asked=1 hit=1; tell' TERM USR1 # from the script, and when Slurm ends the job
	reach
	together
	while [ -z "$asked" ]; do
		say "starts on $SLURMD_NODENAME (restarts: $again)"
		began=$SECONDS size=$(stat -c %s -- "$log")
		set -m # signals of the step go to this shell alone, which hands one on
		coproc THOLE { "$kind" >>"$log" 2>&1; } # its input ends when this shell does, and then it does
		set +m
		child=$!
		now running
		[ -z "$asked" ] || tell
		while :; do
			hit=''
			wait "$child" 2>/dev/null
			code=$?
			[ -n "$hit" ] || break
		done
		child=''
		last="ended with status $code"
		[ "$code" -le 128 ] || [ "$code" -eq 130 ] || last="was killed by signal $((code - 128))"
		say "$last"
		now ended
		if [ "$kind" = worker ] && { [ "$code" -eq 0 ] || [ -e "$dir/done.$attempt" ]; }; then
			[ "$rank" -ne 0 ] || : >"$dir/done.$attempt" # the model is saved, however the others end
			return 0
		fi
		[ -z "$asked" ] || break
		local before=$port
		port=$(tail -c "+$((size + 1))" -- "$log" | sed -n 's/^listening at .*:\([0-9][0-9]*\)$/\1/p' | head -n 1)
		if [ "$code" -ne 75 ] && [ "$code" -ne 0 ] && [ "$code" -le 128 ] && { [ "${before:-0}" -eq 0 ] || [ -n "$port" ]; }; then
			fail "$code" "$last"
		fi # else it was killed, or another process has its port
		port=${port:-0}
		if [ "$again" -ge "$restarts" ]; then
			[ -n "$optional" ] && [ "$name" != worker.0 ] && [ "$kind" = worker ] && return 0
			fail "$((code > 0 ? code : 75))" "$last, and was started again $again times"
		fi
		[ $((SECONDS - began)) -lt 60 ] || pause=0
		sleep "${pauses[pause]}"
		pause=$((pause < ${#pauses[@]} - 1 ? pause + 1 : pause)) again=$((again + 1))
	done
	[ "$kind" = server ] || exit 75 # it was told to end before it was done
}

# step KIND CPUS MEMORY OPTION...: becomes the step of the processes of a kind, each a task of it.
step() {
	exec srun "${@:4}" --exact --distribution=cyclic --kill-on-bad-exit=1 --wait=0 --export=ALL --mpi=none --input=none \
		--job-name="$1" bash -c "$carried; keep $1 $2 $3"
}

# serve: the step of the servers, and a word to the script when it has ended.
serve() {
	local servers='' told=''
	trap 'told=1; [ -z "$servers" ] || kill -USR1 "$servers"' USR1
	trap '' TERM
	step server "$server_cpus" "$server_memory" "${server_step[@]}" &
	servers=$!
	[ -z "$told" ] || kill -USR1 "$servers"
	while kill -0 "$servers" 2>/dev/null; do wait "$servers"; done
	kill -USR2 $$
}

# leave: tells the workers to end. Without servers they would wait in vain.
leave() { [ -z "$workers" ] || kill -USR1 "$workers" 2>/dev/null; }

# main: servers and workers, until the workers are done.
main() {
	local asked='' code hit servers workers='' tries name=job host=$HOSTNAME log=/dev/null
	restart=${SLURM_RESTART_COUNT:-0} attempt=$SLURM_JOB_ID.$restart
	mkdir -p -- "$dir" || exit 1
	rm -f -- "$dir"/began.* "$dir"/failed.* "$dir"/done.* "$dir/ended"
	: >"$dir/began.$attempt" || exit 1
	together
	carried=$(
		declare -f say now fail together tell reach keep server worker
		declare -p dir folder program restarts optional attempt
	)
	say "$SLURM_JOB_ID runs on $SLURM_JOB_NODELIST (restarts: $restart)"
	trap 'asked=${asked:-time} hit=1; leave' USR1 # the time of the job is nearly over
	trap 'asked=told hit=1' TERM                  # Slurm ends the job, and tells all processes
	trap 'asked=${asked:-servers} hit=1; leave' USR2
	serve &
	servers=$!
	step worker "$worker_cpus" "$worker_memory" "${worker_step[@]}" &
	workers=$!
	[ -z "$asked" ] || leave
	while :; do
		hit=''
		wait "$workers"
		code=$?
		[ -n "$hit" ] || break
	done
	trap 'asked=${asked:-servers}' USR2
	kill -USR1 "$servers" 2>/dev/null
	for tries in {1..300}; do
		kill -0 "$servers" 2>/dev/null || break
		[ "$tries" -lt 300 ] || scancel --signal=KILL "$SLURM_JOB_ID" # of a node that does not answer
		sleep 0.1
	done
	finish
}

# finish: the end of the job, or of this run of it.
finish() {
	local why=''
	[ "$asked" != told ] || exit 75 # Slurm knows why
	if [ "$code" -ne 0 ] && read -r code why <"$dir/failed.$attempt"; then
		say "fails: $why"
	elif [ "$code" -ne 0 ]; then
		again
		code=75
	fi 2>/dev/null
	echo "$code" >"$dir/.ended.$attempt" && mv -f -- "$dir/.ended.$attempt" "$dir/ended"
	exit "$code"
}

# again: has the job queued again when its time is over, or when Slurm has ended a step, as it does when a node is lost.
again() {
	if [ "$asked" = time ] && [ -z "$goes_on" ]; then
		say 'has no time left, and would begin anew: want --checkpoint, with which it goes on, or a longer --time'
	elif [ "$asked" != time ] && ! [ "$dir/worker.0.now" -nt "$dir/began.$attempt" ]; then
		say 'has no workers: see what srun says'
	elif [ "$restart" -ge "$restarts" ]; then
		say "was queued again $restart times, and is not once more (--restarts)"
	else
		say 'is queued again'
		if scontrol requeue "$SLURM_JOB_ID"; then
			for _ in {1..600}; do # until Slurm ends this script
				[ "$asked" != told ] || break
				sleep 0.5
			done
			exit 75
		fi
		say 'could not be queued again; the same command goes on from the last checkpoint'
	fi
}

main
