/* Numbers as text, without the locale.
 *
 * Reading goes through a double: up to 17 significant digits as an integer, then one division or
 * multiplication by a power of ten, which is exact up to 10^22. Writing tries one digit more until what it
 * wrote reads back.
 *
 * SPDX-License-Identifier: MIT */
#include "decimal.h"
#include <float.h>
#include <stdint.h>
#include <string.h>

/* Returns x * 10^power. */
static double scaled(double x, int power)
{
	static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	for (; power > 22; power -= 22)
		x *= 1e22;
	for (; power < -22; power += 22)
		x /= 1e22;
	return power < 0 ? x / ten[-power] : x * ten[power];
}

static bool digit(char c) { return c >= '0' && c <= '9'; }

size_t crumb_decimal_read(const char *text, size_t size, float *value)
{
	size_t i = 0;
	const bool minus = i < size && text[i] == '-';
	if (minus || (i < size && text[i] == '+'))
		i++;
	uint64_t digits = 0;
	int power = 0, seen = 0;
	bool point = false;
	for (; i < size && (digit(text[i]) || (text[i] == '.' && !point)); i++) {
		if (text[i] == '.') {
			point = true;
			continue;
		}
		seen = 1;
		const bool room = digits < UINT64_C(10000000000000000);
		if (room)
			digits = 10 * digits + (uint64_t)(text[i] - '0');
		power += (room ? 0 : 1) - (point ? 1 : 0);
	}
	if (!seen)
		return i < size ? i : size - (size > 0);
	if (i < size && (text[i] == 'e' || text[i] == 'E')) {
		size_t at = i + 1;
		const bool down = at < size && text[at] == '-';
		if (down || (at < size && text[at] == '+'))
			at++;
		int exponent = 0;
		const size_t first = at;
		for (; at < size && digit(text[at]); at++)
			exponent = exponent < 1000 ? 10 * exponent + (text[at] - '0') : exponent;
		if (at == first)
			return at < size ? at : size - 1;
		power += down ? -exponent : exponent;
		i = at;
	}
	if (i < size)
		return i;
	const double x = digits == 0 || power < -400 ? 0
	                 : power > 400               ? DBL_MAX
	                                             : scaled((double)digits, power);
	if (x > FLT_MAX)
		return 0;
	*value = (float)(minus ? -x : x) + 0.0f; /* -0 becomes 0, as it is written */
	return size;
}

/* Writes m < 10^count as count digits. */
static void put_digits(char *dst, uint64_t m, int count)
{
	for (int i = count; i-- > 0; m /= 10)
		dst[i] = (char)('0' + m % 10);
}

size_t crumb_decimal_write(char *dst, float value)
{
	char *at = dst;
	if (value < 0)
		*at++ = '-';
	const double x = value < 0 ? -(double)value : (double)value;
	if (x == 0) {
		memcpy(at, "0", 2);
		return (size_t)(at - dst) + 1;
	}
	int exponent = 0; /* 10^exponent <= x < 10^(exponent + 1) */
	while (scaled(1, exponent + 1) <= x)
		exponent++;
	while (scaled(1, exponent) > x)
		exponent--;

	uint64_t m = 0;
	int count = 1;
	for (;; count++) {
		m = (uint64_t)(scaled(x, count - 1 - exponent) + 0.5);
		if (count == 9 || (float)scaled((double)m, exponent + 1 - count) == (float)x)
			break;
	}
	if (m == (uint64_t)scaled(1, count)) { /* rounded up to the next power of ten */
		m /= 10;
		exponent++;
	}
	while (count > 1 && m % 10 == 0) {
		m /= 10;
		count--;
	}

	char digits[16];
	put_digits(digits, m, count);
	if (exponent >= 0 && exponent < 10) {
		for (int i = 0; i <= exponent || i < count; i++) {
			if (i == exponent + 1)
				*at++ = '.';
			*at++ = (char)(i < count ? digits[i] : '0');
		}
	} else if (exponent < 0 && exponent >= -5) {
		memcpy(at, "0.0000", 6);
		at += 1 - exponent;
		memcpy(at, digits, (size_t)count);
		at += count;
	} else {
		*at++ = digits[0];
		if (count > 1) {
			*at++ = '.';
			memcpy(at, digits + 1, (size_t)count - 1);
			at += count - 1;
		}
		*at++ = 'e';
		*at++ = exponent < 0 ? '-' : '+';
		put_digits(at, (uint64_t)(exponent < 0 ? -exponent : exponent), 2);
		at += 2;
	}
	*at = 0;
	return (size_t)(at - dst);
}
