package poprt

import (
	"fmt"
	"math"

	"poprt.example.org/bindings/go/internal/native"
)

// The numbers of poprt/popef_reader.h and poprt/popef_metadata.h.
const (
	metadataBlob = 2

	engineOptions = 1
	deviceOptions = 2

	loadFlow = 1
	mainFlow = 2
	saveFlow = 3
)

// Direction of a [PopEFAnchor].
type Direction int

const (
	NoStream     Direction = iota // has data but no stream
	HostToDevice                  // an input
	DeviceToHost                  // an output
)

// PopEFAnchor is the description of a host-visible tensor of a model.
type PopEFAnchor struct {
	Executable   string // the model
	Name         string
	Handle       string // of its stream; "": no callback can be connected
	Direction    Direction
	DType        DType
	Shape        []int64 // of one transfer
	Programs     []int64 // the programs that use the stream
	IsPerReplica bool    // the first dimension is the replication factor
}

// PopEFOption is an option of the engine or of the device in [PopEFMetadata].
type PopEFOption struct {
	Name, Value string
}

// PopEFMetadata describes how to run an executable. When it is written, 0 means the documented default.
type PopEFMetadata struct {
	// tests/lint/popef_fields.py generates these from core/popef/metadata.toml.
	// <popef:members>
	// Name of the executable that the metadata describes. Since 0.1.
	Executable string
	// Number of replicas that are compiled in. 0: 1. Since 0.1.
	ReplicationFactor int64
	// Number of IPUs that all replicas use together. 0: 1. Since 0.1.
	NumIPUs int64
	// Version of the IPU that the executable was compiled for: 1, 2 or 21. 0: 2. Since 0.1.
	IPUVersion int64
	// Whether the executable is for a POD. Since 0.1.
	IsPOD bool
	// Number of host processes that work together. 0: 1. Since 0.1.
	NumProcesses int64
	// Whether the executable is for training. Since 0.1.
	IsTraining bool
	// Number of transfers of each stream in one run of the main programs. 0: 1. Since 0.1.
	DeviceIterations int64
	// Handle of the stream of the random seed; empty if there is none. Since 0.1.
	SeedHandle string
	// </popef:members>

	EngineOptions []PopEFOption // for the engine that runs it
	DeviceOptions []PopEFOption // for the choice of a device
	LoadPrograms  []int64       // to run once, before all others
	MainPrograms  []int64       // to run repeatedly
	SavePrograms  []int64       // return state to the host
	ProgramNames  map[int64]string
	Anchors       []PopEFAnchor
}

// Metadata returns the metadata of the executables, in the order of the files.
func (p *PopEF) Metadata() ([]PopEFMetadata, error) {
	raw, err := p.h.acquire()
	if err != nil {
		return nil, err
	}
	defer p.h.release()
	list := make([]PopEFMetadata, raw.Count(metadataBlob))
	for i := range list {
		if list[i], err = readMetadata(raw.Metadata(int64(i))); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Anchors returns the anchors of all models, in the order of the files.
func (p *PopEF) Anchors() ([]PopEFAnchor, error) {
	all, err := p.Metadata()
	if err != nil {
		return nil, err
	}
	var list []PopEFAnchor
	for _, m := range all {
		list = append(list, m.Anchors...)
	}
	return list, nil
}

func readMetadata(raw native.RawPopefMetadata) (PopEFMetadata, error) {
	options := func(which int) []PopEFOption {
		list := make([]PopEFOption, raw.Option_count(which))
		for i := range list {
			list[i] = PopEFOption{raw.Option_name(which, int64(i)), raw.Option_value(which, int64(i))}
		}
		return list
	}
	flow := func(which int) []int64 {
		list := make([]int64, raw.Flow_count(which))
		for i := range list {
			list[i] = raw.Flow_program(which, int64(i))
		}
		return list
	}
	m := PopEFMetadata{
		EngineOptions: options(engineOptions),
		DeviceOptions: options(deviceOptions),
		LoadPrograms:  flow(loadFlow),
		MainPrograms:  flow(mainFlow),
		SavePrograms:  flow(saveFlow),
		ProgramNames:  map[int64]string{},
	}
	m.readFields(raw)
	for i := int64(0); i < raw.Program_count(); i++ {
		m.ProgramNames[raw.Program_index(i)] = raw.Program_name(i)
	}
	for i := int64(0); i < raw.Anchor_count(); i++ {
		var failure uintptr
		a := raw.Anchor(i, &failure)
		if err := check(failure); err != nil {
			return m, err
		}
		anchor := PopEFAnchor{m.Executable, a.Name(), a.Handle(), Direction(a.Anchor_type()), DType(a.Dtype()),
			make([]int64, a.Rank()), make([]int64, a.Program_count()), a.Is_per_replica()}
		for d := range anchor.Shape {
			anchor.Shape[d] = a.Dimension(int64(d))
		}
		for d := range anchor.Programs {
			anchor.Programs[d] = a.Program(int64(d))
		}
		native.DeleteRawPopefAnchor(a)
		m.Anchors = append(m.Anchors, anchor)
	}
	return m, nil
}

// tests/lint/popef_fields.py generates these functions from core/popef/metadata.toml.
// <popef:functions>

func (m *PopEFMetadata) readFields(raw native.RawPopefMetadata) {
	m.Executable = raw.Executable()
	m.ReplicationFactor = raw.Field(1)
	m.NumIPUs = raw.Field(2)
	m.IPUVersion = raw.Field(3)
	m.IsPOD = raw.Field(4) != 0
	m.NumProcesses = raw.Field(5)
	m.IsTraining = raw.Field(6) == 0
	m.DeviceIterations = raw.Field(7)
	m.SeedHandle = raw.Seed_handle()
}

func (m *PopEFMetadata) fillFields(raw native.RawPopefMetadata, set func(uintptr)) {
	set(raw.Set_executable(m.Executable))
	if m.ReplicationFactor != 0 {
		set(raw.Set_field(1, m.ReplicationFactor))
	}
	if m.NumIPUs != 0 {
		set(raw.Set_field(2, m.NumIPUs))
	}
	if m.IPUVersion != 0 {
		set(raw.Set_field(3, m.IPUVersion))
	}
	set(raw.Set_field(4, flagNumber(m.IsPOD)))
	if m.NumProcesses != 0 {
		set(raw.Set_field(5, m.NumProcesses))
	}
	set(raw.Set_field(6, flagNumber(!m.IsTraining)))
	if m.DeviceIterations != 0 {
		set(raw.Set_field(7, m.DeviceIterations))
	}
	set(raw.Set_seed_handle(m.SeedHandle))
}

// </popef:functions>

func flagNumber(value bool) int64 {
	if value {
		return 1
	}
	return 0
}

// fill writes all fields to raw. The anchors' Executable is ignored.
func (m *PopEFMetadata) fill(raw native.RawPopefMetadata) error {
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	set := func(failure uintptr) { note(check(failure)) }
	options := func(which int, list []PopEFOption) {
		for _, o := range list {
			set(raw.Add_option(which, o.Name, o.Value))
		}
	}
	flow := func(which int, programs []int64) {
		note(programIndices(programs))
		set(raw.Set_flow(which, programs, int64(len(programs))))
	}
	m.fillFields(raw, set)
	options(engineOptions, m.EngineOptions)
	options(deviceOptions, m.DeviceOptions)
	flow(loadFlow, m.LoadPrograms)
	flow(mainFlow, m.MainPrograms)
	flow(saveFlow, m.SavePrograms)
	for program, name := range m.ProgramNames {
		note(programIndices([]int64{program}))
		set(raw.Set_program(program, name))
	}
	for _, anchor := range m.Anchors {
		note(programIndices(anchor.Programs))
		a := native.NewRawPopefAnchor(anchor.Name, anchor.Handle, int(anchor.Direction))
		a.Set_tensor(int(anchor.DType), anchor.Shape, int64(len(anchor.Shape)))
		a.Set_programs(anchor.Programs, int64(len(anchor.Programs)))
		a.Set_is_per_replica(anchor.IsPerReplica)
		set(raw.Add_anchor(a))
		native.DeleteRawPopefAnchor(a)
	}
	return first
}

// programIndices checks that indices have 32 bits.
func programIndices(programs []int64) error {
	for _, program := range programs {
		if program < 0 || program > math.MaxUint32 {
			return invalid(fmt.Sprintf("no program can have index %d", program))
		}
	}
	return nil
}
