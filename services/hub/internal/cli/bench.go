//go:build parleybench

package cli

import (
	"io"
	"net/http"
	_ "net/http/pprof" // on http.DefaultServeMux

	"github.com/labstack/echo/v4"
)

// The build for benchmarks adds a bare handler, with which REST calls are compared, and the profiles of net/http/pprof.
func init() {
	benchRoutes = func(e *echo.Echo) {
		e.POST("/bench/echo", func(c echo.Context) error {
			body, err := io.ReadAll(c.Request().Body)
			if err != nil {
				return err
			}
			return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, body)
		})
		e.GET("/debug/pprof/*", echo.WrapHandler(http.DefaultServeMux))
	}
}
