/*
 * One effect of the journal, checked over every interleaving: two workers that
 * begin, send, report late and crash, the sweeper, the collector and two
 * operators. What is modelled and what is not stands in README.md.
 *
 * CLASS chooses the tool class. Each BREAK_... switch takes one rule out; the
 * checker must then find a run that breaks an assertion.
 */

#define AT_MOST_ONCE 0
#define DEDUPED      1
#define IDEMPOTENT   2

#ifndef CLASS
#define CLASS AT_MOST_ONCE
#endif

/* how many attempts, and decisions to re-issue, a run may see */
#ifndef MAXA
#define MAXA 3
#endif
#ifndef ORDERS
#define ORDERS 1
#endif

/* states */
#define NONE      0
#define INTENT    1
#define PARKED    2
#define REISSUE   3
#define COMMITTED 4
#define REJECTED  5
#define ABANDONED 6

/* phases of an attempt */
#define NOREPORT  0
#define NOTSENT   1
#define REFUSED   2
#define CONFIRMED 3

/* looks under way */
#define NOLOOK  0
#define FOUNDIT 1
#define MISSED  2

/* the row */
byte state = NONE;
byte n = 0;                 /* the current attempt */
bool unfenced = false;      /* the current attempt is not closed by a write */
bool fresh[2];              /* an operator's page still shows the version that holds */
byte phase[4];
byte issue = 1;
byte issueOf[4];
byte lastOne = 0;           /* the last attempt under issue number 1 */
byte cleared = 0;           /* a NOT_FOUND covers up to this attempt */
bool hit = false;           /* a look found it */
bool windowOver = false;    /* the provider forgot the key of issue number 1 */
bool twice = false;        /* probably double: shown to people */
bool orderOpen = false;     /* granted by a decision, not consumed */
byte orderOf = 0;           /* the attempt that consumed it */
bool orderExpired = false;

/* time: what the clock has let happen */
bool leaseOver = false;     /* the lease of the current attempt ran out */
byte over = 0;              /* of the attempts up to this one nothing can land any more: send_by and time-out are over */

/* the truth, which only the collector asks */
byte landings = 0;          /* distinct ones: the provider drops repeats of a key */
bool landedIssue[3];
byte granted = 0;           /* attempts handed out */
byte orders = 0;            /* orders given */

bool toldYes = false;       /* a worker told the journal that it happened */

/* one look under way: what it saw when it was made */
byte lookSaw = NOLOOK;
byte lookCovers = 0;

#define LIVE (state == INTENT && unfenced && !leaseOver)
#define UNKNOWN(a) ((a) >= 1 && (a) <= n && phase[a] == NOREPORT)
#define ANYCONFIRMED (phase[1] == CONFIRMED || phase[2] == CONFIRMED || phase[3] == CONFIRMED)

/* may an automatic grant fear that attempt a landed? */
#if CLASS == DEDUPED
#ifdef BREAK_CLEARED_KEPT
#define FEAR(a) (UNKNOWN(a) && cleared == 0)
#else
#define FEAR(a) (UNKNOWN(a) && !((a) <= cleared && !hit))
#endif
#else
#define FEAR(a) UNKNOWN(a)
#endif
#define EXPOSED (FEAR(1) || FEAR(2) || FEAR(3))

#define EXEMPT (CLASS == IDEMPOTENT && issue == 1 && !windowOver)

#ifdef BREAK_FENCE_SKIPPED
#define FENCE skip
#else
#define FENCE unfenced = false
#endif

#define DECIDABLE (state == PARKED || (state == INTENT && !LIVE))

#ifdef BREAK_VERSION_UNCHECKED
#define CURRENT true
#else
#define CURRENT (fresh[me])
#endif

/* when a miss proves something: nothing of any attempt can land any more */
#ifdef BREAK_LOOK_TOO_EARLY
#define LATE_ENOUGH true
#else
#define LATE_ENOUGH (over == n)
#endif

/* everything that changes the row raises the version: pages become stale */
inline raise() {
	fresh[0] = false;
	fresh[1] = false
}

inline settle() {
	state = COMMITTED;
	unfenced = false;
	orderOpen = false
}

inline park() {
	state = PARKED;
	FENCE;
	orderOpen = false
}

/* invariant 2, checked at every grant on the facts before it */
inline check_grant(byOrder) {
	assert(!ANYCONFIRMED && !toldYes);
	assert(!hit || EXEMPT);
	assert(!LIVE);
	assert(byOrder || !EXPOSED || (CLASS == IDEMPOTENT && !(windowOver && issue == 1)));
	assert(!byOrder || !orderExpired)
}

inline grant(byOrder) {
	check_grant(byOrder);
	n++;
	granted++;
	assert(granted <= MAXA);
	leaseOver = false;
	issueOf[n] = issue;
#if CLASS == IDEMPOTENT
	if
	:: issue == 1 -> lastOne = n
	:: else -> skip
	fi;
#endif
	state = INTENT;
	unfenced = true;
	raise()
}

/* what comes before every table when an attempt is over */
inline ended(done) {
	done = false;
	if
	:: ANYCONFIRMED -> settle(); done = true
	:: !ANYCONFIRMED && hit && !EXEMPT ->
		if
		:: CLASS == DEDUPED && !twice -> settle()
		:: else -> park()
		fi;
		done = true
	:: else -> skip
	fi
}

/* the order of an attempt that may have been sent is spent */
inline spend() {
	orderOf = 0
}

/* an INTENT that nobody owns; got is the attempt that a worker receives */
inline stuck(worker, got, done) {
	ended(done);
	if
	:: done -> raise()
	:: !done && !EXPOSED && worker && n < MAXA -> grant(false); got = n
	:: !done && !EXPOSED && !(worker && n < MAXA) -> unfenced = false; raise()
	:: !done && EXPOSED ->
		spend();
		if
		:: CLASS == IDEMPOTENT && (!windowOver || issue > 1) && worker && n < MAXA -> grant(false); got = n
#ifdef BREAK_WINDOW_UNCHECKED
		:: CLASS == IDEMPOTENT && windowOver && issue == 1 && worker && n < MAXA -> grant(false); got = n
#endif
		:: CLASS == IDEMPOTENT && (!windowOver || issue > 1) && !(worker && n < MAXA) -> unfenced = false; raise()
		:: CLASS == IDEMPOTENT && windowOver && issue == 1 -> park(); raise()
		:: CLASS == DEDUPED -> unfenced = false; raise()    /* verifying */
		:: CLASS == DEDUPED -> park(); raise()              /* no useful look is left */
		:: CLASS == AT_MOST_ONCE -> park(); raise()
		fi
	fi
}

inline begin(got, done) {
	atomic {
		got = 0;
		if
		:: state == NONE -> grant(false); got = n
#ifdef BREAK_LEASE_IGNORED
		:: state == INTENT -> stuck(true, got, done)
#else
		:: state == INTENT && !LIVE -> stuck(true, got, done)
#endif
		:: state == REISSUE ->
			if
#ifdef BREAK_HIT_IGNORED
			:: orderOpen && !orderExpired && !ANYCONFIRMED && n < MAXA ->
#else
			:: orderOpen && !orderExpired && !ANYCONFIRMED && !hit && n < MAXA ->
#endif
				grant(true);
				got = n;
				orderOf = n;
				orderOpen = false
			:: else -> park(); raise()
			fi
		:: else -> skip
		fi
	}
}

inline report_commit(a) {
	atomic {
		toldYes = true;
		if
#ifdef BREAK_LATE_COMMIT_DROPPED
		:: phase[a] != CONFIRMED && a == n && unfenced ->
#else
		:: phase[a] != CONFIRMED ->
#endif
			phase[a] = CONFIRMED;
			if
			:: LIVE && a < n -> twice = true  /* the live attempt's end settles it */
			:: else -> settle()
			fi;
			raise()
		:: else -> skip
		fi
	}
}

/* what a live attempt reports when nothing happened */
inline report_nothing(a, ph, done) {
	atomic {
		if
		:: a == n && unfenced && state == INTENT ->
			phase[a] = ph;
			ended(done);
			if
			:: done -> skip
			:: !done && orderOf == a -> orderOf = 0; orderOpen = true; state = REISSUE; unfenced = false
			:: !done && orderOf != a && ph == REFUSED && EXPOSED -> park()
			:: !done && orderOf != a && ph == REFUSED && !EXPOSED -> state = REJECTED; unfenced = false
			:: !done && orderOf != a && ph == NOTSENT -> unfenced = false
			fi;
			raise()
		:: !(a == n && unfenced && state == INTENT) && phase[a] == NOREPORT ->
			phase[a] = ph;
			if
			:: ph == REFUSED && (state == PARKED || (state == INTENT && !LIVE)) && !EXPOSED && !hit && !ANYCONFIRMED ->
				state = REJECTED; unfenced = false
			:: else -> skip
			fi;
			raise()
		:: else -> skip
		fi
	}
}

/* the outcome of a live attempt is unknown, and the worker says so */
inline report_sent(a, done) {
	atomic {
		if
		:: a == n && unfenced && state == INTENT ->
			ended(done);
			if
			:: done -> skip
			:: else ->
#ifdef BREAK_ORDER_NOT_SPENT
				if
				:: orderOf == a -> orderOf = 0; orderOpen = true; state = REISSUE; unfenced = false
				:: orderOf != a -> park()
				fi
#else
				spend();
				if
				:: CLASS == AT_MOST_ONCE || (CLASS == IDEMPOTENT && windowOver && issue == 1) -> park()
				:: !(CLASS == AT_MOST_ONCE || (CLASS == IDEMPOTENT && windowOver && issue == 1)) -> unfenced = false
				fi
#endif
			fi;
			raise()
		:: else -> skip
		fi
	}
}

/* the provider takes a request: a repeat of one key inside its window is dropped */
inline arrive(a) {
	if
	:: CLASS == IDEMPOTENT && landedIssue[issueOf[a]] && !(windowOver && issueOf[a] == 1) -> skip
	:: else ->
		landings++;
		landedIssue[issueOf[a]] = true;
		/* the promise: once, and once more per order */
		assert(landings <= 1 + orders)
	fi
}

proctype Worker() {
	byte mine = 0;
	bool done;
again:
	begin(mine, done);
	if
	:: mine == 0 -> goto again_or_end
	:: mine > 0 -> skip
	fi;
	if
	:: skip                        /* crashed, or never sent; nothing is reported */
	:: true -> report_nothing(mine, NOTSENT, done); goto again_or_end
	:: atomic { mine > over -> arrive(mine) };
		if
		:: true -> report_commit(mine)     /* in time or late: nothing holds it up */
		:: true -> report_sent(mine, done);
			if
			:: true -> report_commit(mine) /* the answer came after all */
			:: skip
			fi
		:: skip                    /* crashed after sending */
		fi
	:: atomic { mine > over -> skip };
		report_nothing(mine, REFUSED, done)
	fi;
again_or_end:
	mine = 0;
	done = false;
	if
	:: granted < MAXA && (state == REISSUE || (state == INTENT && !LIVE)) -> goto again
	:: true -> skip
	fi;
end_worker:
	skip
}

/* time passes, in the order that it can: lease, then send_by with its time-out */
proctype Clock() {
end_clock:
	do
	:: atomic { state == INTENT && unfenced && !leaseOver -> leaseOver = true }
	:: atomic { over < n && (over + 1 < n || !LIVE) -> over++ }
#if CLASS == IDEMPOTENT
	/* the window covers every request that was allowed under it */
	:: atomic { !windowOver && n > 0 && over >= lastOne -> windowOver = true }
#endif
	:: atomic { orderOpen && !orderExpired -> orderExpired = true }
	od
}

proctype Sweeper() {
	bool done;
	byte none;
end_sweeper:
	do
	:: atomic { state == INTENT && unfenced && leaseOver ->
#ifdef BREAK_SWEEPER_GRANTS
		stuck(true, none, done);
#else
		stuck(false, none, done);
#endif
		assert(none == 0);             /* the sweeper hands out nothing */
		done = false
	}
	:: atomic { state == REISSUE && orderExpired -> park(); raise() }
	od
}

/* a look sees the truth when it is made and is recorded later */
proctype Collector() {
end_collector:
	do
	:: atomic { lookSaw == NOLOOK && n >= 1 && landings > 0 && !hit -> lookSaw = FOUNDIT }
	:: atomic { CLASS == DEDUPED && lookSaw == NOLOOK && n >= 1 && landings == 0 && !unfenced && cleared < n && LATE_ENOUGH -> lookSaw = MISSED; lookCovers = n }
	:: atomic { lookSaw == FOUNDIT ->
		lookSaw = NOLOOK;
		hit = true;
		raise();
		if
		:: LIVE && n > 1 -> twice = true
		:: state == INTENT && !LIVE && !EXEMPT ->
			if
			:: ANYCONFIRMED || (CLASS == DEDUPED && !twice) -> settle()
			:: else -> park()
			fi
#ifndef BREAK_HIT_IGNORED
		:: state == REISSUE -> park()
#endif
		:: state == ABANDONED || state == REJECTED -> park()
		:: else -> skip
		fi
	}
	:: atomic { lookSaw == MISSED ->
		lookSaw = NOLOOK;
		raise();
		if
		:: CLASS == DEDUPED && state == INTENT && !LIVE && !hit && lookCovers >= n -> cleared = n
		:: else -> skip
		fi
	}
	od
}

/* an operator reads the page, thinks, and decides by what it showed */
proctype Operator(byte me) {
end_operator:
	if
	:: atomic { DECIDABLE -> fresh[me] = true };
		if
		:: atomic {                /* re-issue */
			CURRENT && DECIDABLE && orders < ORDERS && !ANYCONFIRMED && !hit ->
			assert(fresh[me]);
			orders++;
			spend();
			state = REISSUE;
			unfenced = false;
			orderOpen = true;
			orderExpired = false;
			issue = (issue < 2 -> issue + 1 : issue);
			raise()
			}
		:: atomic {                /* close, not landed */
			CURRENT && DECIDABLE && !ANYCONFIRMED && !hit ->
			assert(fresh[me]);
			state = ABANDONED;
			unfenced = false;
			raise()
			}
		:: atomic {                /* close, landed */
			CURRENT && DECIDABLE ->
			assert(fresh[me]);
			settle();
			raise()
			}
		:: skip                    /* stale, blocked, or no decision */
		fi
	fi
}

/* what must hold in every state */
active proctype Watch() {
end_watch:
	do
	:: atomic { state != INTENT && state != NONE && unfenced -> assert(false) }
	od
}

init {
	atomic {
		run Worker();
		run Worker();
		run Clock();
		run Sweeper();
		run Collector();
		run Operator(0);
		run Operator(1)
	}
}
