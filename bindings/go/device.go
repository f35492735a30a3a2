package poprt

import (
	"fmt"
	"math"
	"time"

	"poprt.example.org/bindings/go/internal/native"
)

// DeviceManager finds emulated IPUs. Managers of a process with the same Shared find the same IPUs.
type DeviceManager struct {
	h       *handle[native.RawDeviceManager]
	count   int
	version string
}

// NewDeviceManager returns a manager of deviceCount devices; 0: POPRT_DEVICES from the environment, or 16384. Errors:
// as [NewDeviceManagerWith].
func NewDeviceManager(deviceCount int) (*DeviceManager, error) {
	return NewDeviceManagerWith(DeviceManagerOptions{DeviceCount: deviceCount})
}

// DeviceManagerOptions are the options of [NewDeviceManagerWith]; the zero value uses the environment. Since 1.0.
type DeviceManagerOptions struct {
	DeviceCount int    // 0: POPRT_DEVICES, or 16384
	Visible     string // ids of the visible devices, as in "0,2-3"; "": POPRT_VISIBLE_DEVICES, or all
	Shared      string // "1" or an absolute folder: shared with processes that use the same value; "0": not shared; "": POPRT_SHARED_DEVICES
}

// NewDeviceManagerWith returns a manager with options. Errors: InvalidArgument, PermissionDenied (the folder of Shared
// is of another user or cannot be made). Since 1.0.
func NewDeviceManagerWith(options DeviceManagerOptions) (_ *DeviceManager, refused error) {
	defer refuse(&refused)
	var failure uintptr
	raw := native.NewRawDeviceManager(int64(options.DeviceCount), options.Visible, options.Shared, &failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	return &DeviceManager{newHandle(raw, native.DeleteRawDeviceManager), int(raw.Device_count()),
		raw.Ipu_hardware_version()}, nil
}

// Close is optional; devices remain valid.
func (m *DeviceManager) Close() error { return m.h.Close() }

// DeviceCount returns the number of visible devices, including busy ones.
func (m *DeviceManager) DeviceCount() int { return m.count }

// DeviceIDs returns the ids of the visible devices in ascending order, including busy ones; nil if m is closed.
func (m *DeviceManager) DeviceIDs() []int64 {
	raw, err := m.h.acquire()
	if err != nil {
		return nil
	}
	defer m.h.release()
	ids := make([]int64, m.count)
	for i := range ids {
		ids[i] = raw.Device_id(int64(i))
	}
	return ids
}

// HardwareVersion is the emulated version, "ipu21".
func (m *DeviceManager) HardwareVersion() string { return m.version }

// Device acquires a free device. Errors: Unavailable (all are busy), NotFound (none is visible).
func (m *DeviceManager) Device() (*Device, error) {
	return m.get(func(raw native.RawDeviceManager, failure *uintptr) native.RawDevice {
		return raw.Get_device(1, failure)
	})
}

// SpecificDevice acquires the device with that id. Errors: NotFound, Unavailable.
func (m *DeviceManager) SpecificDevice(id int64) (*Device, error) {
	return m.get(func(raw native.RawDeviceManager, failure *uintptr) native.RawDevice {
		return raw.Get_specific_device(id, failure)
	})
}

// DeviceRequest contains the requirements of [DeviceManager.Acquire]. The zero value accepts any free device.
type DeviceRequest struct {
	NumIPUs       int64       // 0: 1, or the number that the executable needs
	MinTiles      int64       // the least number of tiles of each IPU
	IPUVersion    int         // 0: any; 21 is a C600 IPU
	RemoteBuffers bool        // whether remote buffers are needed
	Executable    *Executable // the executable that the device must fit; nil: any
	ID            *int64      // its id; nil: any

	Wait  time.Duration // waiting time while all suitable devices are busy; 0: none; negative: until one is free
	Sleep time.Duration // the time between two checks of devices that other processes use; 0: 15 s
}

// The numbers of poprt/device.h.
const (
	waitWithTimeout = 1
	waitForever     = 2
)

// Acquire acquires a device that meets the request. Errors: NotFound (no visible device can ever be suitable),
// Unavailable (the suitable devices are busy), InvalidArgument (the request).
func (m *DeviceManager) Acquire(request DeviceRequest) (_ *Device, refused error) {
	defer refuse(&refused)
	if request.IPUVersion < math.MinInt32 || request.IPUVersion > math.MaxInt32 {
		return nil, invalid(fmt.Sprintf("there is no IPU version %d", request.IPUVersion))
	}
	r := native.NewRawDeviceRequest()
	defer native.DeleteRawDeviceRequest(r)
	r.SetNum_ipus(request.NumIPUs)
	r.SetMin_tiles(request.MinTiles)
	r.SetIpu_version(request.IPUVersion)
	if request.RemoteBuffers {
		r.SetRemote_buffers(1)
	}
	r.SetWait_sleep_ns(int64(request.Sleep))
	if request.Wait < 0 {
		r.SetWait_strategy(waitForever)
	} else if request.Wait > 0 {
		r.SetWait_strategy(waitWithTimeout)
		r.SetWait_timeout_ns(int64(request.Wait))
	}
	id := int64(-1)
	if request.ID != nil {
		id = *request.ID
	}
	if request.Executable == nil {
		return m.get(func(raw native.RawDeviceManager, failure *uintptr) native.RawDevice {
			return raw.Acquire(r, id, failure)
		})
	}
	executable, err := request.Executable.h.acquire()
	if err != nil {
		return nil, err
	}
	defer request.Executable.h.release()
	return m.get(func(raw native.RawDeviceManager, failure *uintptr) native.RawDevice {
		return raw.Acquire_for(executable, r, id, failure)
	})
}

// IPUModelDevice creates a separate device that is never busy. Results are those of any device. IPU versions are 1, 2
// and 21; 0 means 2. If tilesPerIPU is 0, it is the number of the version. Errors: InvalidArgument.
func (m *DeviceManager) IPUModelDevice(numIPUs int64, ipuVersion int, tilesPerIPU int64) (*Device, error) {
	if ipuVersion < math.MinInt32 || ipuVersion > math.MaxInt32 {
		return nil, invalid(fmt.Sprintf("there is no IPU version %d", ipuVersion))
	}
	return m.get(func(raw native.RawDeviceManager, failure *uintptr) native.RawDevice {
		return raw.Create_ipu_model_device(numIPUs, ipuVersion, tilesPerIPU, failure)
	})
}

// SmallIPUModelDevice is IPUModelDevice with 4 tiles for each IPU.
func (m *DeviceManager) SmallIPUModelDevice(numIPUs int64, ipuVersion int) (*Device, error) {
	if ipuVersion < math.MinInt32 || ipuVersion > math.MaxInt32 {
		return nil, invalid(fmt.Sprintf("there is no IPU version %d", ipuVersion))
	}
	return m.get(func(raw native.RawDeviceManager, failure *uintptr) native.RawDevice {
		return raw.Create_small_ipu_model_device(numIPUs, ipuVersion, failure)
	})
}

func (m *DeviceManager) get(call func(native.RawDeviceManager, *uintptr) native.RawDevice) (*Device, error) {
	raw, err := m.h.acquire()
	if err != nil {
		return nil, err
	}
	defer m.h.release()
	var failure uintptr
	device := call(raw, &failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	return &Device{newHandle(device, native.DeleteRawDevice), device.Device_id(), device.Ipu_version(), device.Num_ipus(),
		device.Tiles_per_ipu(), device.Is_ipu_model()}, nil
}

// Device is an acquired device of one or several emulated IPUs. It is busy until it is closed, and while a runner or
// session is on it, except that an IPU model is never busy.
type Device struct {
	h          *handle[native.RawDevice]
	id         int64
	ipuVersion int
	numIPUs    int64
	tiles      int64
	ipuModel   bool
}

// ID is the device's number from 0, which is that of its first IPU; -1 for an IPU model.
func (d *Device) ID() int64 { return d.id }

// IPUVersion is the version of the IPUs: 21 for "ipu21".
func (d *Device) IPUVersion() int { return d.ipuVersion }

// NumIPUs is the number of IPUs, 1 or more.
func (d *Device) NumIPUs() int64 { return d.numIPUs }

// TilesPerIPU is the number of tiles of each IPU, for example 1472.
func (d *Device) TilesPerIPU() int64 { return d.tiles }

// IsIPUModel is false for the emulated IPUs of the process.
func (d *Device) IsIPUModel() bool { return d.ipuModel }

// Close releases the device; a runner or session on it keeps it until that is closed.
func (d *Device) Close() error { return d.h.Close() }
