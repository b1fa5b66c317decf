# Names for commands; none of them is needed to build. The gate is "go test ./...".
.PHONY: build image operator test race fuzz soak bursts kills endure flaky scale rates engines mutants bench peers models onnx stores hdfs golden docs module

build:
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o out/ ./cmd/...

# The images of thole and of the operator (deploy/Dockerfile): make image IMAGE=registry.example/thole:1 OPERATOR=registry.example/operator:1
image:
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o deploy/thole ./cmd/thole
	cd operator && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o ../deploy/thole-operator ./thole-operator
	cp $(or $(CERTIFICATES),/etc/ssl/certs/ca-certificates.crt) deploy/ca-certificates.crt
	$(or $(DOCKER),docker) build --target thole -t $(or $(IMAGE),thole:latest) deploy
	$(or $(DOCKER),docker) build --target operator -t $(or $(OPERATOR),thole-operator:latest) deploy

# The operator, a module of its own: two minutes of a processor when nothing is in Go's cache, so that it is no part of the gate.
operator:
	cd operator && export CGO_ENABLED=0 && go vet ./... && go test ./... && go build -o ../out/ ./thole-operator

test:
	go test -timeout 40m ./...

race:
	go test -race -timeout 2h ./...

# One target: make fuzz PKG=./wire FUZZ=FuzzCursor
fuzz:
	go test $(PKG) -run '^$$' -fuzz '^$(FUZZ)$$' -fuzztime 60s

# The properties with many more draws, from a fresh seed, 10,000 jobs with faults, and 10,000 that outlive their processes.
soak:
	RAPID_CHECKS=5000 FAULT_SEEDS=10000 SIM_SEEDS=10000 SCALE_SEEDS=200 go test -timeout 3h ./...

# The tests 30 times, next to busy loops and on one processor in turns, and every one that failed (CONTRIBUTING.md): a night.
# make flaky ARGS='-n 4 -short ./server ./ps'
flaky:
	go run ./internal/flaky $(ARGS)

# The peak memory of a server process for each size of --memory and of messages, an hour or so (docs/reliability.md)
bursts:
	MEMORY_BURSTS=1 go test ./cmd/thole -run '^TestMemoryOfBursts$$' -count 1 -v -timeout 3h

# Three servers and three workers, of which one is killed every two seconds, come to the model of a training that nobody disturbed; and
# each case of who is killed while a job runs or moves:
# make kills KILL_TIME=5m KILL_SEED=2
kills:
	KILL_TIME=$(or $(KILL_TIME),5m) KILL_SEED=$(KILL_SEED) KILL_ARGS="$(KILL_ARGS)" go test ./cmd/thole \
		-run '^Test(Kills|Killed|ReshardKilled|LaunchScaleKilled)$$' -count 1 -v -timeout 12h

# Jobs on two servers with a standby each and four workers, of which one is killed every ten seconds, for an hour: the bits of each model, the
# folders of the logs and the memory of the servers (docs/benchmarks): make endure SOAK_TIME=10m SOAK_CURVE=docs/benchmarks/soak
endure:
	SOAK_TIME=$(or $(SOAK_TIME),1h) SOAK_CURVE=$(abspath $(SOAK_CURVE)) KILL_SEED=$(KILL_SEED) go test ./cmd/thole -run '^TestSoak$$' -count 1 -v -timeout 12h

# A job of 1,000 tasks on 200 servers, simulated, and 1,000 tasks on one real server: some minutes (docs/scale.md)
scale:
	SCALE=1 go test ./internal/scale -run '^Test(Full|Connections)$$' -count 1 -v -timeout 1h
	go test ./ssp -run '^$$' -bench Clock

# Train every algorithm with 0.1 to 50 % positives on 60,000 rows of five seeds and check the mean prediction on other rows, an hour or more:
# make rates BASE_ALGOS=fm,dcn BASE_SHARES=0.01 BASE_SEEDS=1,2
rates:
	BASE_RATES=1 BASE_ALGOS=$(BASE_ALGOS) BASE_SHARES=$(BASE_SHARES) BASE_SEEDS=$(BASE_SEEDS) go test ./cmd/thole -run '^TestBaseRates$$' \
		-count 1 -v -timeout 12h

# Train on real engines, whose pods and nodes go amid it (test/engines): make engines ARGS='-run Kube'
engines:
	cd test/engines && go test -count 1 -v -timeout 1h $(ARGS) ./...

# Change a line at a time and see whether a test notices (docs/mutants.md): make mutants ARGS='-n 40 -seed 7 ./matrix ./wire'
mutants:
	go run ./internal/mutants $(ARGS)

bench:
	go test ./... -run '^$$' -bench .

# Measure thole beside the peers of ../shared/peers/ps, in rounds that take turns (docs/performance.md): make peers ARGS='-n 5'
peers:
	go run ./internal/peers $(ARGS)

# Train and score each network beside PyTorch, in the same way (docs/algorithms.md): make models PYTHON=/path/to/python ARGS='-n 2'
models:
	go run ./internal/peers -suite models -python $(or $(PYTHON),python3) $(ARGS)

# Train each network, export it as ONNX and compare what ONNX Runtime says with predict (docs/export.md): make onnx PYTHON=/path/to/python
onnx: build
	$(or $(PYTHON),python3) internal/oracle/onnx_check.py out/thole

# The suites of stores and of formats in a bucket of the store that the environment names (docs/stores.md): make stores BUCKET=tests
stores:
	THOLE_TEST_S3_BUCKET=$(BUCKET) go test -count 1 -timeout 30m -run 'TestRealStore' ./blob/s3 $(ARGS)
	THOLE_TEST_STORE=s3://$(BUCKET)/test/models go test -count 1 -timeout 3h ./format/all \
		-run 'TestGoldens$$|TestGoldensWritten|TestRoundTrip|TestManyWriters|TestNothingOvertaken' $(ARGS)

# The tests of blob/hdfs on a real HDFS, which Maven downloads once (docs/hdfs.md).
hdfs:
	test/engines/hdfs/test.sh

# Rewrite the golden files of the packages whose tests have the flag; read the difference before committing it.
golden:
	for p in $$(grep -rl --include=*_test.go 'flag.Bool("update"' . | xargs -n1 dirname | sort -u); do go test $$p -update; done

# Rewrite the tables of the README.
docs:
	go test ./internal/house -run Readme -update

# Give the module another path, wherever it is written: make module TO=github.com/somebody/thole
module:
	old=$$(go list -m) && grep -rlF --exclude-dir=.git --include=*.go --include=*.md --include=go.mod "$$old" . | \
		xargs sed -i "s|$$old|$(TO)|g" && gofmt -w . && go build ./... && go test ./internal/house
