package signin

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/fault"
	"parley.internal/shared/passkeys"
)

// The routes.
const (
	BeginPath  = "/v1/passkeys/sign-in/begin"
	FinishPath = "/v1/passkeys/sign-in/finish"
)

// Site serves the routes.
type Site struct {
	// Begin returns a challenge. It returns a fault for an address that has begun too many sign-ins.
	Begin func(*http.Request) (passkeys.ProveOutput, error)
	// Finish exchanges a signed challenge for a key. It returns a fault for one that is not accepted.
	Finish func(*http.Request, passkeys.Assertion) (passkeys.SignIn, error)
	// Now is the clock for the metadata of answers; nil means [time.Now].
	Now func() time.Time
}

// Mount adds the routes to a router.
func (s *Site) Mount(e *echo.Echo) {
	e.POST(BeginPath, func(c echo.Context) error {
		out, err := s.Begin(c.Request())
		return answer(c, s.Now, out, err)
	})
	e.POST(FinishPath, func(c echo.Context) error {
		var in struct{ Credential passkeys.Assertion }
		if err := json.NewDecoder(io.LimitReader(c.Request().Body, maxBody)).Decode(&in); err != nil || in.Credential.ID == "" {
			return fault.New(fault.Invalid, "the body must be a JSON object with the credential that the browser returned")
		}
		out, err := s.Finish(c.Request(), in.Credential)
		return answer(c, s.Now, out, err)
	})
}

// maxBody is the number of bytes that are read of a request. Nobody has signed in yet, so it is little.
const maxBody = 16 << 10

// answered is the answer in the envelope of all REST answers.
type answered[T any] struct {
	Success bool      `json:"success"`
	Data    T         `json:"data"`
	Meta    rest.Meta `json:"meta"`
}

func answer[T any](c echo.Context, now func() time.Time, data T, err error) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	if err != nil {
		return err
	}
	if now == nil {
		now = time.Now
	}
	meta := rest.Meta{Timestamp: now().UTC(), RequestID: c.Response().Header().Get(echo.HeaderXRequestID)}
	return c.JSON(http.StatusOK, answered[T]{true, data, meta})
}
