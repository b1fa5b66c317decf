#!/bin/bash
#SBATCH --partition=long
#SBATCH --time=90
#SBATCH --job-name=thole-lr
#SBATCH --output=/shared/jobs/a/slurm.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@60
#SBATCH --ntasks=2
#SBATCH --cpus-per-task=1
#SBATCH --nodes=2
#SBATCH --mem-per-cpu=8192M
#SBATCH hetjob
#SBATCH --partition=long
#SBATCH --time=90
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=8
#SBATCH --nodes=3
#SBATCH --mem-per-cpu=128M
# Written by thole launch --on slurm: sbatch takes it, as often as you like.

dir='/shared/jobs/a'
folder='/shared'
program='/shared/thole'
restarts='100'
goes_on=''
optional='1'
server_cpus='1'
worker_cpus='8'
server_memory=6144MiB
server_step=(--het-group=0 --ntasks=2 --cpus-per-task=1 --mem-per-cpu=8192M --nodes=1-2)
worker_memory=768MiB
worker_step=(--het-group=1 --ntasks=4 --cpus-per-task=8 --mem-per-cpu=128M --nodes=1-4)

server() {
	set -- server
	exec "$program" "$@"
}

worker() {
	set -- worker
	[ "$rank" -eq 0 ] && set -- "$@" \
		--log=x
	[ "$rank" -ne 0 ] && set -- "$@" \
		--log=
	exec "$program" "$@"
}
