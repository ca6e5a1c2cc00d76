# The proleptic Gregorian calendar (as if it had always been in use), by days since 1970-01-01.
#
# Years are counted from March here, so that the leap day is the last day of a year, and in eras of 400 years, after which
# the calendar repeats.

cdef enum:
    DAYS_TO_EPOCH = 719468  # from 0000-03-01 to 1970-01-01
    DAYS_OF_ERA = 146097

cdef struct CivilDate:
    int64_t year  # 0 is 1 BC
    int month  # 1 to 12
    int day  # 1 to 31


cdef inline CivilDate civil_date(int64_t days) noexcept nogil:
    """The date of a day: that of 0 is 1970-01-01."""
    cdef CivilDate date
    cdef int64_t era = (days + DAYS_TO_EPOCH) // DAYS_OF_ERA
    cdef int64_t day = days + DAYS_TO_EPOCH - era * DAYS_OF_ERA  # of the era
    # Without the leap days so far, which end each 4 years, but not each 100, except for the last of the 400.
    cdef int64_t year = (day - day // 1460 + day // 36524 - day // 146096) // 365  # of the era
    cdef int month
    day -= 365 * year + year // 4 - year // 100  # of the year
    month = <int>((5 * day + 2) // 153)  # 0 is March: five months from March or August on have 153 days
    date.day = <int>day - (153 * month + 2) // 5 + 1
    date.month = month + 3 if month < 10 else month - 9
    date.year = year + era * 400 + (date.month <= 2)
    return date


cdef inline int64_t civil_days(int64_t year, int month, int day) noexcept nogil:
    """Days from 1970-01-01 to a date."""
    if month <= 2:
        year -= 1
    cdef int64_t era = year // 400
    cdef int64_t year_of_era = year - era * 400
    cdef int64_t day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return (
        era * DAYS_OF_ERA + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - DAYS_TO_EPOCH
    )
