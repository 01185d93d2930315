// Package system makes the packages of Linux distributions: deb and rpm.
package system
