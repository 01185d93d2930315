// Package config is the functions' configuration: one struct, read once from the environment and checked before
// anything starts. Nothing else in the functions reads the environment but the libraries.
package config
