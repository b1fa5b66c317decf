#!/bin/bash
#SBATCH --partition=long
#SBATCH --account=lab
#SBATCH --qos=high
#SBATCH --time=2-12
#SBATCH --job-name=thole-lr
#SBATCH --output=/shared/jobs/a/slurm.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@60
#SBATCH --ntasks=8
#SBATCH --cpus-per-task=4
#SBATCH --nodes=4
#SBATCH --mem-per-cpu=768M
#SBATCH --gres=gpu:1
#SBATCH "--mail-user=a b"
# Written by thole launch --on slurm: sbatch takes it, as often as you like.

dir='/shared/jobs/a'
folder='/shared'
program='/shared/thole'
restarts='100'
goes_on='1'
optional=''
server_cpus='4'
worker_cpus='4'
server_memory=2304MiB
server_step=(--ntasks=2 --cpus-per-task=4 --mem-per-cpu=768M --nodes=1-2)
worker_memory=2304MiB
worker_step=(--ntasks=6 --cpus-per-task=4 --mem-per-cpu=768M --nodes=1-6)

server() {
	set -- server
	exec "$program" "$@"
}

worker() {
	set -- worker
	exec "$program" "$@"
}
