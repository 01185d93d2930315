package fcm

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"firebase.google.com/go/v4/messaging"

	"parley.internal/shared/push"
)

const (
	maxKey = 32
	// maxTTL is the longest time that FCM keeps a push.
	maxTTL = 28 * 24 * time.Hour
	// actionLen is the length of an option on a button of a browser, in characters.
	actionLen = 40
)

func goodKey(key string) bool {
	return len(key) <= maxKey && strings.Trim(key,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// message translates a notice into an FCM message within FCM's limits, without tokens.
func message(n push.Notice, now time.Time) *messaging.MulticastMessage {
	// The services count whole seconds and refuse a negative TTL. All three take 0 for immediate delivery or none.
	n.TTL = min(max(n.TTL, 0), maxTTL).Truncate(time.Second)
	if n.Priority == "" {
		n.Priority = push.Normal
	}
	return fit(n, func(n push.Notice) *messaging.MulticastMessage {
		return &messaging.MulticastMessage{
			Notification: &messaging.Notification{Title: n.Title, Body: n.Body},
			Data:         data(n),
			Android:      android(n),
			APNS:         apns(n, now),
			Webpush:      webpush(n),
		}
	})
}

// urgent reports whether the push should wake the device. A question always does.
func urgent(n push.Notice) bool { return n.Priority == push.High || n.Channel == push.Questions }

// data returns the data for the apps, the same on all platforms.
func data(n push.Notice) map[string]string {
	d := map[string]string{"type": n.Type, "priority": string(n.Priority)}
	for name, value := range map[string]string{"taskId": n.TaskID, "sessionId": n.SessionID, "url": n.URL} {
		if value != "" {
			d[name] = value
		}
	}
	return d
}

func android(n push.Notice) *messaging.AndroidConfig {
	a := &messaging.AndroidConfig{CollapseKey: n.Key, Priority: "normal", TTL: &n.TTL,
		Notification: &messaging.AndroidNotification{ChannelID: string(n.Channel), Tag: n.Key}}
	if urgent(n) {
		a.Priority = "high"
	}
	if len(n.Options) > 0 {
		// Android's own data replaces the common data, and its values must be strings.
		a.Data = data(n)
		a.Data["options"] = jsonText(n.Options)
	}
	return a
}

func jsonText(list []string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(list); err != nil {
		return "[]"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func apns(n push.Notice, now time.Time) *messaging.APNSConfig {
	headers := map[string]string{"apns-push-type": "alert", "apns-priority": "5", "apns-expiration": "0"}
	if urgent(n) {
		headers["apns-priority"] = "10"
	}
	if n.TTL > 0 {
		headers["apns-expiration"] = strconv.FormatInt(now.Add(n.TTL).Unix(), 10)
	}
	if n.Key != "" {
		headers["apns-collapse-id"] = n.Key
	}
	aps := &messaging.Aps{Alert: &messaging.ApsAlert{Title: n.Title, Body: n.Body}, Badge: n.Badge,
		ThreadID: string(n.Channel)}
	if n.Priority != push.Low {
		aps.Sound = "default"
	}
	p := &messaging.APNSPayload{Aps: aps}
	if len(n.Options) > 0 {
		aps.Category = "question"
		p.CustomData = map[string]any{"options": n.Options}
	}
	return &messaging.APNSConfig{Headers: headers, Payload: p}
}

func webpush(n push.Notice) *messaging.WebpushConfig {
	headers := map[string]string{"TTL": strconv.FormatInt(int64(n.TTL/time.Second), 10), "Urgency": "normal"}
	switch {
	case urgent(n):
		headers["Urgency"] = "high"
	case n.Priority == push.Low:
		headers["Urgency"] = "low"
	}
	if n.Key != "" {
		headers["Topic"] = n.Key
	}
	w := &messaging.WebpushConfig{Headers: headers, Notification: &messaging.WebpushNotification{Title: n.Title,
		Body: n.Body, Tag: n.Key}}
	for i, option := range n.Options {
		w.Notification.Actions = append(w.Notification.Actions,
			&messaging.WebpushNotificationAction{Action: strconv.Itoa(i), Title: shorten(option, actionLen)})
	}
	// FCM refuses a message whose link is not https. The app still has the URL in the data.
	if u, err := url.ParseRequestURI(n.URL); err == nil && u.Scheme == "https" && u.Host != "" {
		w.FCMOptions = &messaging.WebpushFCMOptions{Link: n.URL}
	}
	return w
}
