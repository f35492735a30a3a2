package scenario

import (
	"strings"
	"testing"
	"time"

	poprt "poprt.example.org/bindings/go"
)

func TestScenario24DeviceBusy(t *testing.T) {
	freeDevices(t)
	m := must(poprt.NewDeviceManager(0))
	if m.HardwareVersion() != "ipu21" {
		t.Fatal(m.HardwareVersion())
	}
	all := make([]*poprt.Device, m.DeviceCount())
	for i := range all {
		all[i] = must(m.Device())
		defer all[i].Close()
	}
	_, err := m.Device()
	fails(t, err, poprt.Unavailable)
	e := affine(t)
	_, err = poprt.NewRunner(e, nil)
	fails(t, err, poprt.Unavailable)
	id := all[0].ID()
	all[0].Close()
	all[0] = must(m.SpecificDevice(id))
	r := must(poprt.NewRunner(e, &poprt.RunnerOptions{Threads: 1, Device: all[0]}))
	defer r.Close()
	_, err = poprt.NewRunner(e, &poprt.RunnerOptions{Device: all[0]})
	fails(t, err, poprt.FailedPrecondition)
	_, err = m.SpecificDevice(int64(len(all)))
	fails(t, err, poprt.NotFound)
}

func TestScenario25Statistics(t *testing.T) {
	e := affine(t)
	r := must(poprt.NewRunner(e, &poprt.RunnerOptions{Threads: 1, Profile: true}))
	defer r.Close()
	x, y := iota8(0), make([]float32, 8)
	for i := 0; i < 3; i++ {
		ok(t, r.Execute(in(x), out(y)))
	}
	profile := must(r.Profile())
	if !strings.Contains(profile, `"runs":3`) && !strings.Contains(profile, `"runs": 3`) ||
		!strings.Contains(profile, "instructions") {
		t.Fatal(profile)
	}
	if statistics := must(r.Statistics()); !strings.Contains(statistics, "replicas") {
		t.Fatal(statistics)
	}
	if tracepoints := must(r.Tracepoints()); tracepoints != "[]" {
		t.Fatal(tracepoints)
	}
	_, err := runner(t, e).Profile()
	fails(t, err, poprt.FailedPrecondition)
}

func TestScenario29WaitingForADevice(t *testing.T) {
	freeDevices(t)
	m := must(poprt.NewDeviceManager(2))
	equal(t, m.DeviceIDs(), []int64{0, 1})
	first, second := must(m.SpecificDevice(0)), must(m.SpecificDevice(1))
	_, err := m.Acquire(poprt.DeviceRequest{})
	fails(t, err, poprt.Unavailable)
	_, err = m.Acquire(poprt.DeviceRequest{Wait: time.Millisecond})
	fails(t, err, poprt.Unavailable)
	_, err = m.Acquire(poprt.DeviceRequest{IPUVersion: 1 << 40})
	fails(t, err, poprt.InvalidArgument)
	time.AfterFunc(50*time.Millisecond, func() { second.Close() })
	got := must(m.Acquire(poprt.DeviceRequest{IPUVersion: 21, Wait: time.Minute, Sleep: 20 * time.Millisecond}))
	defer got.Close()
	if got.ID() != 1 || got.NumIPUs() != 1 || got.IPUVersion() != 21 || got.IsIPUModel() {
		t.Fatal(got)
	}
	ipuModel := must(m.IPUModelDevice(1, 2, 4))
	defer ipuModel.Close()
	if ipuModel.ID() != -1 || ipuModel.TilesPerIPU() != 4 || !ipuModel.IsIPUModel() {
		t.Fatal(ipuModel)
	}
	time.AfterFunc(20*time.Millisecond, func() { first.Close() })
	zero := int64(0)
	fits := must(m.Acquire(poprt.DeviceRequest{Executable: affine(t), ID: &zero, Wait: -1}))
	defer fits.Close()
	equal(t, fits.ID(), zero)
}

func TestOptionsByTheirOlderNames(t *testing.T) {
	for _, options := range []*poprt.RunnerOptions{{Replicas: 2}, {ReplicationFactor: 2}} {
		equal(t, must(must(poprt.NewRunner(affine(t), options)).Counters()).Replicas, 2)
	}
	for replicas := 2; replicas <= 3; replicas++ {
		_, err := poprt.NewRunner(affine(t), &poprt.RunnerOptions{Replicas: replicas, ReplicationFactor: 2})
		fails(t, err, poprt.InvalidArgument, "ReplicationFactor and Replicas are one option")
	}
	_, err := poprt.NewRunner(affine(t), &poprt.RunnerOptions{ReplicationFactor: 1 << 40})
	fails(t, err, poprt.InvalidArgument, "ReplicationFactor is a 32-bit number, given 1099511627776")
	_, err = poprt.NewSession(affine(t), &poprt.SessionOptions{DeviceWait: 1, DeviceWaitTimeout: 2})
	fails(t, err, poprt.InvalidArgument, "DeviceWaitTimeout and DeviceWait are one option")
	_, err = poprt.CompileBytes(nil, "", &poprt.CompileOptions{OpsetVersion: 17, ConvertVersion: 18})
	fails(t, err, poprt.InvalidArgument, "ConvertVersion and OpsetVersion are one option")
}

// A partial batch runs when its time is over, independent of the time between rows.
func TestTheTimeoutOfABatch(t *testing.T) {
	r := must(poprt.NewRunner(affine(t), &poprt.RunnerOptions{Threads: 1, UseBatchingDim: true, Timeout: -1,
		IsBatchSizeTimeoutEnabled: true, BatchSizeTimeout: 300 * time.Microsecond}))
	x, y := iota8(0)[:4], make([]float32, 4)
	ok(t, r.Execute(in(x), out(y)))
	equal(t, must(r.Counters()).PaddedRows, int64(1))
}

func TestScenario30Telemetry(t *testing.T) {
	equal(t, strings.TrimSpace(must(poprt.ReadTelemetry(t.TempDir()))), "[]")
}

func TestScenario31ALimitOnWaitingInTheQueue(t *testing.T) {
	r := runner(t, slow(t))
	submit := func(limit time.Duration) *poprt.Call {
		x, y := slowMemory()
		return must(r.Bind(x, y)).GoWithin(limit, nil)
	}
	var calls []*poprt.Call
	for i := 0; i < 4; i++ {
		calls = append(calls, submit(0))
	}
	late := submit(time.Nanosecond)
	fails(t, (<-late.Done).Error, poprt.DeadlineExceeded)
	for _, c := range calls {
		ok(t, (<-c.Done).Error)
	}
}

func TestScenario32AnyNumberOfRows(t *testing.T) {
	e := compile(t, "affine.onnx", map[string][]int64{"x": {4, 4}})
	r := must(poprt.NewRunner(e, &poprt.RunnerOptions{Threads: 1, UseBatchingDim: true, Timeout: 300 * time.Microsecond}))
	defer r.Close()
	for _, rows := range []int{3, 1, 4, 7} {
		x, y := make([]float32, 4*rows), make([]float32, 4*rows)
		for i := range x {
			x[i] = float32(i)
		}
		ok(t, r.Execute(in(x), out(y)))
		twicePlusOne(t, x, y)
	}
}

func TestScenario33RunnerStatistics(t *testing.T) {
	r := must(poprt.NewRunner(affine(t), &poprt.RunnerOptions{Threads: 1, FlushOnWaitingOutputs: true}))
	defer r.Close()
	x, y := iota8(0), make([]float32, 8)
	for i := 0; i < 3; i++ {
		ok(t, r.Execute(in(x), out(y)))
	}
	statistics := strings.ReplaceAll(must(r.Statistics()), " ", "")
	if !strings.Contains(statistics, `"completed":3`) {
		t.Fatal(statistics)
	}
	equal(t, strings.Count(must(r.Tracepoints()), `"compute_begin"`), 3)
}

func TestScenario33CountersOfARunner(t *testing.T) {
	r := must(poprt.NewRunner(affine(t), &poprt.RunnerOptions{Threads: 1, ReplicationFactor: 2}))
	x, y := iota8(0), make([]float32, 8)
	for i := 0; i < 3; i++ {
		ok(t, r.Execute(in(x), out(y)))
	}
	all := must(r.Counters())
	if all.Submitted != 3 || all.Completed != 3 || all.Failed != 0 || all.InFlight != 0 || all.Batches != 3 ||
		all.LatencyCount != 3 || all.Replicas != 2 {
		t.Fatalf("%+v", all)
	}
	if all.LatencyP50 <= 0 || all.LatencyP50 > all.LatencyP99 || all.LatencyMax > all.LatencyTotal {
		t.Fatalf("%+v", all)
	}
	sum := int64(0)
	for _, n := range all.LatencyBuckets {
		sum += n
	}
	equal(t, sum, int64(3))
	equal(t, must(r.ReplicaCounters(0)).Completed+must(r.ReplicaCounters(1)).Completed, int64(3))
	_, err := r.ReplicaCounters(2)
	fails(t, err, poprt.NotFound, "replica 2", "has 2")
	ok(t, r.Close())
	if _, err := r.Counters(); err == nil {
		t.Fatal("counters of a closed runner")
	}
}
