package poprt

import "poprt.org/bindings/go/internal/native"

// DeviceManager finds emulated IPUs. All managers see the same ones.
type DeviceManager struct {
	h       *handle[native.RawDeviceManager]
	count   int
	version string
}

// NewDeviceManager sees deviceCount devices; 0: POPRT_DEVICES from the environment, or 4.
func NewDeviceManager(deviceCount int) (*DeviceManager, error) {
	var failure uintptr
	raw := native.NewRawDeviceManager(int64(deviceCount), &failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	return &DeviceManager{newHandle(raw, native.DeleteRawDeviceManager), int(raw.Device_count()),
		raw.Ipu_hardware_version()}, nil
}

// Close is optional; devices live on.
func (m *DeviceManager) Close() error { return m.h.Close() }

// DeviceCount counts busy devices as well.
func (m *DeviceManager) DeviceCount() int { return m.count }

// HardwareVersion is "ipu21": what the emulator stands for.
func (m *DeviceManager) HardwareVersion() string { return m.version }

// Device is a free one. Errors: Unavailable (all are busy).
func (m *DeviceManager) Device() (*Device, error) {
	return m.get(func(raw native.RawDeviceManager, failure *uintptr) native.RawDevice {
		return raw.Get_device(1, failure)
	})
}

// SpecificDevice is the one of that id. Errors: NotFound, Unavailable.
func (m *DeviceManager) SpecificDevice(id int64) (*Device, error) {
	return m.get(func(raw native.RawDeviceManager, failure *uintptr) native.RawDevice {
		return raw.Get_specific_device(id, failure)
	})
}

func (m *DeviceManager) get(ask func(native.RawDeviceManager, *uintptr) native.RawDevice) (*Device, error) {
	raw, err := m.h.acquire()
	if err != nil {
		return nil, err
	}
	defer m.h.release()
	var failure uintptr
	device := ask(raw, &failure)
	if err := check(failure); err != nil {
		return nil, err
	}
	return &Device{newHandle(device, native.DeleteRawDevice), device.Device_id()}, nil
}

// Device is an emulated IPU. It is busy until it is closed, and while a runner is on it.
type Device struct {
	h  *handle[native.RawDevice]
	id int64
}

// ID is the device's number, from 0.
func (d *Device) ID() int64 { return d.id }

// Close gives the device back.
func (d *Device) Close() error { return d.h.Close() }
