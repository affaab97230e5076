//! The functions of `f64` that only `std` has, from the crate `libm`.

/// As in `std`.
pub(crate) trait Float {
    fn ceil(self) -> Self;
    fn exp(self) -> Self;
    fn exp2(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn powf(self, exponent: Self) -> Self;
    fn powi(self, exponent: i32) -> Self;
    fn round(self) -> Self;
    fn sqrt(self) -> Self;
}

impl Float for f64 {
    fn ceil(self) -> Self {
        libm::ceil(self)
    }

    fn exp(self) -> Self {
        libm::exp(self)
    }

    fn exp2(self) -> Self {
        libm::exp2(self)
    }

    fn ln(self) -> Self {
        libm::log(self)
    }

    fn ln_1p(self) -> Self {
        libm::log1p(self)
    }

    fn powf(self, exponent: Self) -> Self {
        libm::pow(self, exponent)
    }

    fn powi(self, exponent: i32) -> Self {
        libm::pow(self, exponent.into())
    }

    fn round(self) -> Self {
        libm::round(self)
    }

    fn sqrt(self) -> Self {
        libm::sqrt(self)
    }
}
