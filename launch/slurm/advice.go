package slurm

import (
	"fmt"
	"strings"
)

// advice is what to do about what Slurm says.
type advice struct{ says, do string }

// refusals is the table for errors of commands, by a part of their text.
func refusals() []advice {
	return []advice{
		{"invalid partition", "want another --slurm-partition: sinfo -s lists those of the cluster"},
		{"Invalid account", "want another --account, or --slurm-partition with it: sacctmgr show assoc user=$USER lists yours"},
		{"Invalid qos", "want another --qos: sacctmgr show assoc user=$USER format=account,partition,qos lists yours"},
		{"Requested node configuration is not available", "want less of --server-memory, --server-cpus, --worker-memory, --worker-cpus or " +
			"--nodes than the nodes have: sinfo -o '%P %D %c %m' lists them"},
		{"Memory specification can not be satisfied", "want less --server-memory and --worker-memory: sinfo -o '%P %m' lists what nodes have"},
		{"More processors requested than permitted", "want fewer --servers, --workers, --server-cpus or --worker-cpus"},
		{"Node count specification invalid", "want another --nodes"},
		{"Requested time limit is invalid", "want less --time: sinfo -o '%P %l' lists what partitions allow"},
		{"time limit specification required", "want --time, on this cluster"},
		{"violates accounting/QOS policy", "want less of what is asked for, or another --qos: squeue -u $USER lists what you have already"},
		{"Invalid directive", "see --sbatch"},
		{"nrecognized option", "see --sbatch"},
		{"Invalid generic resource", "see --sbatch"},
		{"Unable to contact slurm controller", "is its controller up? scontrol ping asks"},
	}
}

// reasons is the table for why jobs wait.
func reasons() []advice {
	return []advice{
		{"Resources", "waits until nodes are free"},
		{"Priority", "others are first"},
		{"BeginTime", "a job that is queued again waits some two minutes"},
		{"JobHeldUser", "scontrol release lets it go on"},
		{"JobHeldAdmin", "an administrator holds it"},
		{"job requeued in held state", "scontrol release lets it go on"},
		{"PartitionTimeLimit", "it never runs: want less --time"},
		{"PartitionNodeLimit", "it never runs: want fewer --nodes"},
		{"PartitionConfig", "no node of the partition has what it asks for, or it is down: want less of it, or wait"},
		{"PartitionDown", "waits until an administrator opens the partition"},
		{"ReqNodeNotAvail", "waits for nodes that are down or reserved"},
		{"Nodes required for job are DOWN", "waits for nodes that are down or reserved"},
		{"BadConstraints", "it never runs: see --sbatch"},
		{"QOSMax", "it asks for more than the --qos allows"},
		{"QOSGrp", "waits for other jobs of the --qos"},
		{"AssocMax", "it asks for more than the --account allows"},
		{"AssocGrp", "waits for other jobs of the --account"},
		{"DependencyNeverSatisfied", "it never runs: thole launch stop ends it"},
	}
}

// advise adds what to do to an error.
func advise(err error) error {
	for _, a := range refusals() {
		if strings.Contains(strings.ToLower(err.Error()), strings.ToLower(a.says)) {
			return fmt.Errorf("%w; %s", err, a.do)
		}
	}
	return err
}

// reasonOf is what a reason means, as the end of a sentence.
func reasonOf(reason string) string {
	for _, a := range reasons() {
		if strings.HasPrefix(strings.TrimLeft(reason, "("), a.says) {
			return " (" + a.do + ")"
		}
	}
	return ""
}
