package signal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/idempotency"
	"parley.internal/shared/identity"
	"parley.internal/shared/store"
)

// Device is the document of a phone or browser that receives pushes. Its id is made from its token, or from its address
// if it has one, which is a document of its own.
type Device struct {
	Token        string    `json:"token,omitempty"`
	Platform     string    `json:"platform"`
	Name         string    `json:"name,omitempty"`
	RegisteredAt time.Time `json:"registeredAt"`
}

const apple = "ios"

var devices = store.Collection[Device]{Name: "devices", PartOf: "a device",
	Unindexed: []string{"token", "platform", "name", "registeredAt"},
	Log:       "device", Note: func(d *Device, _ string) store.Note { return store.Note{Line: d.Name, State: d.Platform} }}

// deviceID returns the id of a device. It depends on the token only, so that a device that
// registers again receives each push once.
func deviceID(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:16])
}

// Register adds a device to the user's devices. A device with the same token or the same address is replaced.
func (s *Service) Register(ctx context.Context, c identity.Caller, in DeviceInput) (DeviceView, error) {
	now := s.Now()
	a, err := in.address()
	if err == nil {
		err = s.check(a)
	}
	if err != nil {
		return DeviceView{}, err
	}
	direct, id := a.Platform.Direct(), deviceID(in.Token)
	d := Device{Token: in.Token, Platform: in.Platform, Name: in.Name, RegisteredAt: now}
	if direct {
		id, d.Token = deviceID(in.Platform+"\x00"+a.URL), ""
	}
	out, err := idempotency.Update(ctx, s.DB.User(c.User), in, now, func(ctx context.Context, tx *store.Tx) (DeviceView, error) {
		if direct {
			old, err := addresses.Get(ctx, tx, id)
			if err != nil && !fault.Is(err, fault.NotFound) {
				return DeviceView{}, err
			}
			addresses.Put(tx, id, old.next(a, c, now))
		}
		devices.Put(tx, id, d)
		return deviceView(id, d), nil
	})
	if direct {
		s.repliesChanged()
	}
	return out, err
}

// Devices returns a page of the user's devices, without their tokens and addresses.
func (s *Service) Devices(ctx context.Context, c identity.Caller, in DevicesInput) (DevicesOutput, error) {
	out := DevicesOutput{Devices: []DeviceView{}}
	page, err := devices.Query(ctx, s.DB.User(c.User), store.Query{Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	for _, d := range page.Docs {
		out.Devices = append(out.Devices, deviceView(d.ID, d.Value))
	}
	out.NextCursor = page.Next
	return out, nil
}

// Unregister removes a device, which then receives no pushes. A device that does not exist is
// NotFound.
func (s *Service) Unregister(ctx context.Context, c identity.Caller, in DeviceIDInput) (DeviceView, error) {
	var out DeviceView
	err := s.DB.User(c.User).Update(ctx, func(ctx context.Context, tx *store.Tx) error {
		d, err := devices.Get(ctx, tx, in.DeviceID)
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "no device with id %q", in.DeviceID)
		}
		if err != nil {
			return err
		}
		remove(tx, in.DeviceID)
		out = deviceView(in.DeviceID, d)
		return nil
	})
	s.repliesChanged()
	return out, err
}

// remove deletes a device and its address, if it has one.
func remove(tx *store.Tx, id string) {
	devices.Delete(tx, id)
	addresses.Delete(tx, id)
}

// Settings returns the user's notification settings, the defaults if none were set.
func (s *Service) Settings(ctx context.Context, c identity.Caller, _ SettingsQuery) (SettingsView, error) {
	v, err := settings.Get(ctx, s.DB.User(c.User), notifications)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return SettingsView{}, err
	}
	return s.settingsView(v), nil
}

// Set replaces the user's notification settings. Malformed quiet hours are Invalid.
func (s *Service) Set(ctx context.Context, c identity.Caller, in SettingsInput) (SettingsView, error) {
	if in.Quiet != nil {
		if err := in.Quiet.check(); err != nil {
			return SettingsView{}, err
		}
	}
	v := Settings{Off: in.Off, On: in.On, Quiet: in.Quiet, PerHour: in.PerHour, ChangesPerHour: in.ChangesPerHour,
		UpdatedAt: s.Now()}
	if v.Off == nil {
		v.Off = []About{}
	}
	err := s.DB.User(c.User).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		settings.Put(tx, notifications, v)
		return nil
	})
	return s.settingsView(v), err
}
