import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;
import org.apache.hadoop.hdfs.protocol.HdfsConstants;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.kerby.kerberos.kerb.server.SimpleKdcServer;

/**
 * A real HDFS in one process: a namenode (or two, of which one stands by) and datanodes on loopback. It prints the addresses of its
 * namenodes in one line, then does what the lines of its standard input say, each answered by one line, and ends with the last.
 */
class Cluster {
  static MiniDFSCluster cluster;
  static final List<MiniDFSCluster.DataNodeProperties> stopped = new ArrayList<>();

  public static void main(String[] args) throws Exception {
    String folder = args[0];
    int datanodes = Integer.parseInt(args[1]);
    int namenodes = Integer.parseInt(args[2]);
    Configuration conf = new HdfsConfiguration();
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(folder).getAbsolutePath());
    conf.setBoolean("dfs.permissions.enabled", true);
    conf.setInt("dfs.replication", Math.min(2, datanodes));
    conf.setInt("dfs.blocksize", 8 << 20); // files of the tests have several
    conf.setInt("dfs.heartbeat.interval", 1);
    conf.setInt("dfs.namenode.heartbeat.recheck-interval", 1000); // a datanode is dead after some 12 seconds, not 10 minutes
    conf.setInt("dfs.namenode.safemode.extension", 0);
    conf.setInt("dfs.namenode.safemode.min.datanodes", 1);
    if (namenodes > 1) {
      conf.setInt("dfs.ha.tail-edits.period", 1);
      conf.setBoolean("dfs.ha.nn.not-become-active-in-safemode", false);
    }
    if (args.length > 3 && !args[3].isEmpty()) kerberos(conf, new File(folder), args[3]);
    MiniDFSCluster.Builder b = new MiniDFSCluster.Builder(conf).numDataNodes(datanodes).checkDataNodeAddrConfig(false);
    cluster = namenodes > 1 ? b.nnTopology(MiniDFSNNTopology.simpleHATopology(namenodes)).build() : b.build();
    if (namenodes > 1) cluster.transitionToActive(0);
    cluster.waitActive();
    Runtime.getRuntime().addShutdownHook(new Thread(Cluster::stop));
    StringBuilder addresses = new StringBuilder();
    for (int i = 0; i < namenodes; i++) {
      if (i > 0) addresses.append(',');
      addresses.append("127.0.0.1:").append(cluster.getNameNodePort(i));
    }
    System.out.println(addresses);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = in.readLine()) != null; ) {
      String answer;
      try {
        answer = act(line.trim().split("\\s+"));
      } catch (Throwable t) {
        t.printStackTrace();
        answer = "error " + String.valueOf(t).replace('\n', ' ');
      }
      System.out.println(answer);
    }
    System.exit(0);
  }

  /** Starts a KDC and has the cluster want it: krb5.conf, user.keytab and hdfs.keytab are in the folder then. */
  static void kerberos(Configuration conf, File folder, String protection) throws Exception {
    var kdc = new SimpleKdcServer();
    kdc.setWorkDir(folder);
    kdc.setKdcHost("localhost");
    kdc.setKdcRealm("EXAMPLE.COM");
    kdc.setAllowUdp(false);
    kdc.init();
    kdc.start();
    String service = "hdfs/localhost@EXAMPLE.COM", web = "HTTP/localhost@EXAMPLE.COM", user = "alice@EXAMPLE.COM";
    String keys = new File(folder, "hdfs.keytab").getPath();
    kdc.createAndExportPrincipals(new File(keys), service, web);
    kdc.createAndExportPrincipals(new File(folder, "user.keytab"), user);
    System.setProperty("java.security.krb5.conf", new File(folder, "krb5.conf").getPath());
    conf.set("hadoop.security.authentication", "kerberos");
    conf.setBoolean("hadoop.security.authorization", true);
    conf.setBoolean("dfs.block.access.token.enable", true);
    conf.setBoolean("ignore.secure.ports.for.testing", true);
    conf.set("dfs.data.transfer.protection", protection);
    for (String role : new String[] {"namenode", "datanode"}) {
      conf.set("dfs." + role + ".kerberos.principal", service);
      conf.set("dfs." + role + ".keytab.file", keys);
    }
    conf.set("dfs.web.authentication.kerberos.principal", web);
    conf.set("dfs.web.authentication.kerberos.keytab", keys);
    UserGroupInformation.setConfiguration(conf);
    UserGroupInformation.loginUserFromKeytab(service, keys);
  }

  static synchronized void stop() {
    if (cluster != null) cluster.shutdown();
    cluster = null;
  }

  /** Does one thing; "ok", and what there is to say. */
  static String act(String[] words) throws Exception {
    switch (words[0]) {
      case "stop-datanode": // the first of those that run, at once, in the middle of what it does
        stopped.add(cluster.stopDataNode(0));
        return "ok";
      case "start-datanodes": // those that were stopped, with the same addresses
        for (var d : stopped) {
          if (!cluster.restartDataNode(d, true)) return "error a datanode does not start";
        }
        stopped.clear();
        cluster.waitActive();
        return "ok";
      case "stop-namenode":
        cluster.shutdownNameNode(Integer.parseInt(words[1]));
        return "ok";
      case "start-namenode":
        cluster.restartNameNode(Integer.parseInt(words[1]), false);
        return "ok";
      case "active": // of several
        for (int i = 0; i < cluster.getNumNameNodes(); i++) {
          if (cluster.getNameNode(i) != null && cluster.getNameNode(i).isActiveState()) cluster.transitionToStandby(i);
        }
        cluster.transitionToActive(Integer.parseInt(words[1]));
        return "ok";
      case "safemode":
        dfs().setSafeMode(words[1].equals("on")
            ? HdfsConstants.SafeModeAction.SAFEMODE_ENTER : HdfsConstants.SafeModeAction.SAFEMODE_LEAVE);
        return "ok";
      case "quota": // PATH NAMES BYTES
        dfs().setQuota(new Path(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]));
        return "ok";
      case "chmod": // PATH MODE
        dfs().setPermission(new Path(words[1]), new org.apache.hadoop.fs.permission.FsPermission(words[2]));
        return "ok";
      case "ec": // PATH POLICY
        dfs().enableErasureCodingPolicy(words[2]);
        dfs().setErasureCodingPolicy(new Path(words[1]), words[2]);
        return "ok";
      case "fill": // PATH, a file that Java writes
        try (var out = dfs().create(new Path(words[1]))) {
          out.write(new byte[3 << 20]);
        }
        return "ok";
      case "mkdir":
        dfs().mkdirs(new Path(words[1]));
        return "ok";
      case "leases": // how long a lease lasts without being renewed: SOFT HARD, milliseconds
        cluster.setLeasePeriod(Long.parseLong(words[1]), Long.parseLong(words[2]));
        return "ok";
      case "cpu": // seconds of the processors that this process has had
        return timed(() -> {}, 0);
      case "put": // FILE PATH, as "hdfs dfs -put -f"
        return timed(() -> dfs().copyFromLocalFile(false, true, new Path("file://" + words[1]), new Path(words[2])));
      case "get": // PATH FILE, as "hdfs dfs -get"
        return timed(() -> dfs().copyToLocalFile(false, new Path(words[1]), new Path("file://" + words[2]), true));
      default:
        return "error unknown: " + words[0];
    }
  }

  interface Act { void run() throws Exception; }

  /** The seconds that something takes, and those of the processors, of the cluster too. */
  static String timed(Act act) throws Exception {
    return timed(act, cpu());
  }

  static long cpu() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }

  static String timed(Act act, long cpu) throws Exception {
    long begin = System.nanoTime();
    act.run();
    return String.format("ok %.3f %.3f", (System.nanoTime() - begin) / 1e9, (cpu() - cpu) / 1e9);
  }

  static DistributedFileSystem dfs() throws Exception {
    int active = 0;
    for (int i = 0; i < cluster.getNumNameNodes(); i++) {
      if (cluster.getNameNode(i) != null && cluster.getNameNode(i).isActiveState()) active = i;
    }
    DistributedFileSystem fs = (DistributedFileSystem) cluster.getFileSystem(active);
    try {
      fs.getStatus();
    } catch (java.io.IOException e) {
      // its connection was to the namenode that ran before; the next is a new one
    }
    return fs;
  }
}
