#!/bin/bash
#SBATCH --job-name=thole-lr
#SBATCH --output=/shared/jobs/a/slurm.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@60
#SBATCH --ntasks=2
#SBATCH --cpus-per-task=1
# Written by thole launch --on slurm: sbatch takes it, as often as you like.

dir='/shared/jobs/a'
folder='/shared'
program='/shared/thole'
restarts='100'
goes_on=''
optional=''
server_cpus='1'
worker_cpus='1'
server_memory=${SLURM_MEM_PER_CPU:+$((SLURM_MEM_PER_CPU * 1 * 3 / 4))MiB}
server_step=(--ntasks=1 --cpus-per-task=1 --nodes=1-1 --mem=0)
worker_memory=${SLURM_MEM_PER_CPU:+$((SLURM_MEM_PER_CPU * 1 * 3 / 4))MiB}
worker_step=(--ntasks=1 --cpus-per-task=1 --nodes=1-1 --mem=0)

server() {
	set -- server \
		--listen="$host:$port"
	exec "$program" "$@"
}

worker() {
	set -- worker \
		--data=a
	exec "$program" "$@"
}
