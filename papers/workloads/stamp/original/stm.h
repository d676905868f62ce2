/* stm.h -- what STAMP, built with -DSTM, asks of a transactional-memory system (its lib/tm.h has
 * the other side), so that its programs run here unmodified.
 *
 * Two forms. Plain: transactions are critical sections under one global lock, taken or elided
 * (stm_lock.cpp), and accesses are accesses. With STM_CALLS: transactions, and each access to what
 * they share, are calls of libitm's interface (stm_calls.cpp), as the programs' own STM has it.
 */
#ifndef SYNCOPATE_STM_H
#define SYNCOPATE_STM_H

#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The programs hand a thread's own data from function to function; here there are none. */
typedef struct stm_thread STM_THREAD_T;
#define STM_SELF stm_self

void stm_enter(long thread); /* a thread begins its part of a parallel region */
void stm_leave(void);        /* and ends it */

#define STM_STARTUP()
#define STM_SHUTDOWN()
#define STM_NEW_THREAD() ((STM_THREAD_T*)0)
#define STM_INIT_THREAD(self, thread) ((void)(self), stm_enter(thread))
#define STM_FREE_THREAD(self) ((void)(self), stm_leave())

#define STM_BEGIN_RD() STM_BEGIN_WR()
#define STM_LOCAL_WRITE(variable, value) ((variable) = (value))
#define STM_LOCAL_WRITE_P(variable, value) ((variable) = (value))
#define STM_LOCAL_WRITE_F(variable, value) ((variable) = (value))

#ifndef STM_CALLS

void stm_begin(void);
void stm_end(void);
void stm_restart(void); /* Requires: in an elided section; ends the program under the lock. */

#define STM_BEGIN_WR() stm_begin()
#define STM_END() stm_end()
#define STM_RESTART() stm_restart()
#define STM_MALLOC(size) malloc(size)
#define STM_FREE(at) free(at)
#define STM_READ(variable) (variable)
#define STM_READ_P(variable) (variable)
#define STM_READ_F(variable) (variable)
#define STM_WRITE(variable, value) ((variable) = (value))
#define STM_WRITE_P(variable, value) ((variable) = (value))
#define STM_WRITE_F(variable, value) ((variable) = (value))

#else

uint32_t _ITM_beginTransaction(uint32_t, ...) __attribute__((returns_twice));
void _ITM_commitTransaction(void);
void _ITM_abortTransaction(int) __attribute__((noreturn));
void* _ITM_malloc(size_t);
void _ITM_free(void*);
uint32_t _ITM_RU4(const uint32_t*);
uint64_t _ITM_RU8(const uint64_t*);
void _ITM_WU4(uint32_t*, uint32_t);
void _ITM_WU8(uint64_t*, uint64_t);

/* Whether the transaction was taken back for good, by STM_RESTART: then it is begun anew. Returns 0
 * each time that it begins, or begins again. */
int stm_is_cancelled(uint32_t actions);
void stm_committed(void);

#define STM_BEGIN_WR() \
  do {                 \
  } while (stm_is_cancelled(_ITM_beginTransaction(1)))
#define STM_END() (_ITM_commitTransaction(), stm_committed())
#define STM_RESTART() _ITM_abortTransaction(1)
#define STM_MALLOC(size) _ITM_malloc(size)
#define STM_FREE(at) _ITM_free(at)

/* STAMP shares words: longs, ints, pointers, and floats. */
#define STM_IS_WORD(variable) \
  _Static_assert(sizeof(variable) == 8 || sizeof(variable) == 4, "what transactions share")
#define STM_READ(variable)                                                             \
  __extension__({                                                                      \
    STM_IS_WORD(variable);                                                             \
    (__typeof__(variable))(sizeof(variable) == 8                                       \
                               ? _ITM_RU8((const uint64_t*)(const void*)&(variable))   \
                               : _ITM_RU4((const uint32_t*)(const void*)&(variable))); \
  })
#define STM_READ_P(variable) STM_READ(variable)
#define STM_WRITE(variable, value)                                                           \
  __extension__({                                                                            \
    STM_IS_WORD(variable);                                                                   \
    const __typeof__(variable) stm_value = (value);                                          \
    if (sizeof(variable) == 8) _ITM_WU8((uint64_t*)(void*)&(variable), (uint64_t)stm_value); \
    else _ITM_WU4((uint32_t*)(void*)&(variable), (uint32_t)(uint64_t)stm_value);             \
    stm_value;                                                                               \
  })
#define STM_WRITE_P(variable, value) STM_WRITE(variable, value)

union stm_float {
  float value;
  uint32_t bits;
};
static inline float stm_read_float(const float* at) {
  union stm_float is;
  is.bits = _ITM_RU4((const uint32_t*)at);
  return is.value;
}
static inline float stm_write_float(float* at, float value) {
  union stm_float is;
  is.value = value;
  _ITM_WU4((uint32_t*)at, is.bits);
  return value;
}
#define STM_READ_F(variable) stm_read_float(&(variable))
#define STM_WRITE_F(variable, value) stm_write_float(&(variable), value)

#endif

#ifdef __cplusplus
}
#endif

#endif
