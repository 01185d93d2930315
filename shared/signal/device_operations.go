package signal

import (
	"time"

	"parley.internal/shared/op"
)

// DeviceInput is the input of register_device.
type DeviceInput struct {
	op.Idempotency
	Token    string `json:"token" allow:"nonempty,max=1000" jsonschema:"the registration token that Firebase Cloud Messaging gave the app"`
	Platform string `json:"platform" allow:"enum=android|ios|web"`
	Name     string `json:"name,omitempty" allow:"max=100" jsonschema:"what you call it"`
}

// DeviceIDInput is the input of delete_device.
type DeviceIDInput struct {
	DeviceID string `json:"deviceId" allow:"nonempty,max=100,pattern=id"`
}

// DeviceView is a device without its token.
type DeviceView struct {
	DeviceID     string    `json:"deviceId"`
	Platform     string    `json:"platform"`
	Name         string    `json:"name,omitempty"`
	RegisteredAt time.Time `json:"registeredAt"`
}

func deviceView(id string, d Device) DeviceView {
	return DeviceView{DeviceID: id, Platform: d.Platform, Name: d.Name, RegisteredAt: d.RegisteredAt}
}

// DevicesInput is the input of list_devices.
type DevicesInput struct {
	Limit  int    `json:"limit,omitempty" allow:"min=1,max=100,default=20"`
	Cursor string `json:"cursor,omitempty" allow:"max=2000"`
}

// DevicesOutput is the output of list_devices.
type DevicesOutput struct {
	Devices    []DeviceView `json:"devices"`
	NextCursor string       `json:"nextCursor,omitempty"`
}

// SettingsQuery is the input of get_notification_settings.
type SettingsQuery struct{}

// SettingsInput is the input of set_notification_settings.
type SettingsInput struct {
	Off            []About     `json:"off,omitempty" allow:"max=5,enum=questions|alerts|tasks|dreams|changes" jsonschema:"what is not to ring"`
	On             []About     `json:"on,omitempty" allow:"max=1,enum=completions" jsonschema:"what rings only on request: completions are tasks that are done and sessions that are complete"`
	Quiet          *QuietHours `json:"quietHours,omitempty" jsonschema:"when alerts of the kinds info and success do not ring"`
	PerHour        *int        `json:"perHour,omitempty" allow:"min=0,max=100" jsonschema:"how many pushes an hour may have; 100 where left out"`
	ChangesPerHour *int        `json:"changesPerHour,omitempty" allow:"min=0,max=20" jsonschema:"how many of them may be about what is blocked or failed; 20 where left out"`
}

// SettingsView is the representation of the notification settings in answers.
type SettingsView struct {
	Off            []About     `json:"off"`
	On             []About     `json:"on"`
	Quiet          *QuietHours `json:"quietHours,omitempty"`
	PerHour        int         `json:"perHour"`
	ChangesPerHour int         `json:"changesPerHour"`
	UpdatedAt      time.Time   `json:"updatedAt,omitzero"`
}

func settingsView(s Settings) SettingsView {
	v := SettingsView{Off: s.Off, On: s.On, Quiet: s.Quiet, UpdatedAt: s.UpdatedAt}
	if v.Off == nil {
		v.Off = []About{}
	}
	if v.On == nil {
		v.On = []About{}
	}
	v.PerHour, v.ChangesPerHour = s.caps()
	return v
}

// deviceOperations returns the operations of devices and notification settings.
func (s *Service) deviceOperations() []op.Op {
	const set = "signal"
	return []op.Op{
		op.New(op.Spec{Name: "register_device", Title: "Register a device", Toolset: set, Route: "POST /v1/devices",
			Effect: op.Write, For: op.Humans, RESTOnly: true, Creates: true, Cases: registerCases,
			Doc: "Have a phone or a browser of yours rung when an agent asks or alerts you. Registering the same " +
				"token again changes its name."}, s.Register),
		op.New(op.Spec{Name: "list_devices", Title: "List devices", Toolset: set, Route: "GET /v1/devices",
			Effect: op.Read, For: op.Humans, RESTOnly: true, Cases: devicesCases,
			Doc: "The devices that are rung, without their tokens."}, s.Devices),
		op.New(op.Spec{Name: "delete_device", Title: "Delete a device", Toolset: set,
			Route: "DELETE /v1/devices/{deviceId}", Effect: op.Destroy, For: op.Humans, RESTOnly: true,
			Cases: unregisterCases,
			Doc:   "Ring a device no more."}, s.Unregister),
		op.New(op.Spec{Name: "get_notification_settings", Title: "Read the settings of pushes", Toolset: set,
			Route: "GET /v1/settings/notifications", Effect: op.Read, For: op.Humans, RESTOnly: true,
			Cases: settingsCases,
			Doc:   "What rings, how often in an hour, and the quiet hours."}, s.Settings),
		op.New(op.Spec{Name: "set_notification_settings", Title: "Set what rings", Toolset: set,
			Route: "PUT /v1/settings/notifications", Effect: op.Write, For: op.Humans, RESTOnly: true, Cases: setCases,
			Doc: "Put settings in place of those there are: what is off, the quiet hours, and how many pushes an " +
				"hour may have. Nothing is hidden from the lists."}, s.Set),
	}
}
