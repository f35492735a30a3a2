package poprt

import (
	"fmt"
	"math"

	"poprt.example.org/bindings/go/internal/native"
)

// The numbers of poprt/popef_reader.h and poprt/popef_metadata.h.
const (
	metadataBlob = 2

	fieldReplicationFactor = 1
	fieldNumIPUs           = 2
	fieldIPUVersion        = 3
	fieldIsPOD             = 4
	fieldNumProcesses      = 5
	fieldIsInference       = 6
	fieldDeviceIterations  = 7

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

// PopEFAnchor is a host-visible tensor of a model as its file describes it.
type PopEFAnchor struct {
	Executable   string // the model
	Name         string
	Handle       string // of its stream; "": no callback can be connected
	Direction    Direction
	DType        DType
	Shape        []int64 // of one transfer
	Programs     []int64 // those that use the stream
	IsPerReplica bool    // the first dimension is the replication factor
}

// PopEFOption of [PopEFMetadata].
type PopEFOption struct {
	Name, Value string
}

// PopEFMetadata says how an executable is to be run. When it is written, 0 stands for the defaults in brackets.
type PopEFMetadata struct {
	Executable        string // name of its blob
	SeedHandle        string // stream of the random seed; "": there is none
	ReplicationFactor int64  // replicas that are compiled in [1]
	NumIPUs           int64  // of all replicas together [1]
	IPUVersion        int64  // 1, 2 or 21 [2]
	IsPOD             bool
	NumProcesses      int64         // host processes that work together [1]
	IsTraining        bool          // else it is for inference
	DeviceIterations  int64         // transfers of each stream in a run of the main programs [1]
	EngineOptions     []PopEFOption // for the engine that runs it
	DeviceOptions     []PopEFOption // for choosing a device
	LoadPrograms      []int64       // to run once, before all others
	MainPrograms      []int64       // to run repeatedly
	SavePrograms      []int64       // that bring state back
	ProgramNames      map[int64]string
	Anchors           []PopEFAnchor
}

// Metadata is what the files say about their executables, in the order of the files.
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

// Anchors of all models, in the order of the files.
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
		Executable:        raw.Executable(),
		SeedHandle:        raw.Seed_handle(),
		ReplicationFactor: raw.Field(fieldReplicationFactor),
		NumIPUs:           raw.Field(fieldNumIPUs),
		IPUVersion:        raw.Field(fieldIPUVersion),
		IsPOD:             raw.Field(fieldIsPOD) != 0,
		NumProcesses:      raw.Field(fieldNumProcesses),
		IsTraining:        raw.Field(fieldIsInference) == 0,
		DeviceIterations:  raw.Field(fieldDeviceIterations),
		EngineOptions:     options(engineOptions),
		DeviceOptions:     options(deviceOptions),
		LoadPrograms:      flow(loadFlow),
		MainPrograms:      flow(mainFlow),
		SavePrograms:      flow(saveFlow),
		ProgramNames:      map[int64]string{},
	}
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

// fill writes everything to raw. The anchors' Executable is not looked at.
func (m *PopEFMetadata) fill(raw native.RawPopefMetadata) error {
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	set := func(failure uintptr) { note(check(failure)) }
	field := func(which int, value int64) {
		if value != 0 {
			set(raw.Set_field(which, value))
		}
	}
	flag := func(which int, value bool) {
		number := int64(0)
		if value {
			number = 1
		}
		set(raw.Set_field(which, number))
	}
	options := func(which int, list []PopEFOption) {
		for _, o := range list {
			set(raw.Add_option(which, o.Name, o.Value))
		}
	}
	flow := func(which int, programs []int64) {
		note(programIndices(programs))
		set(raw.Set_flow(which, programs, int64(len(programs))))
	}
	set(raw.Set_executable(m.Executable))
	set(raw.Set_seed_handle(m.SeedHandle))
	field(fieldReplicationFactor, m.ReplicationFactor)
	field(fieldNumIPUs, m.NumIPUs)
	field(fieldIPUVersion, m.IPUVersion)
	flag(fieldIsPOD, m.IsPOD)
	field(fieldNumProcesses, m.NumProcesses)
	flag(fieldIsInference, !m.IsTraining)
	field(fieldDeviceIterations, m.DeviceIterations)
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

// programIndices have 32 bits.
func programIndices(programs []int64) error {
	for _, program := range programs {
		if program < 0 || program > math.MaxUint32 {
			return invalid(fmt.Sprintf("no program can have index %d", program))
		}
	}
	return nil
}
