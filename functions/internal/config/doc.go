// Package config is the configuration of the functions: one struct that is read once from the environment and validated
// before anything starts. Except for libraries, nothing else in the functions reads the environment.
package config
