// The control service: keys, barriers, and the verdict on who is lost.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "executor/control/client.h"
#include "executor/control/service.h"

namespace transload {
namespace {

constexpr double kBeatTimeout_s = 2;
constexpr double kPatience_s = 20;

struct Control {
  explicit Control(std::int32_t processes)
      : service({.processes = processes, .epoch = 4, .beat_timeout_s = kBeatTimeout_s}) {}
  std::unique_ptr<ControlClient> join(std::int32_t process) {
    return std::make_unique<ControlClient>(service.endpoint(), process, 4, kBeatTimeout_s,
                                           kPatience_s);
  }
  ControlService service;
};

Verdict verdict_of(ControlClient& client) {
  std::promise<Verdict> fallen;
  client.watch([&](const Verdict& verdict) { fallen.set_value(verdict); });
  std::future<Verdict> verdict = fallen.get_future();
  EXPECT_EQ(verdict.wait_for(std::chrono::duration<double>(kPatience_s)),
            std::future_status::ready);
  client.watch({});
  return verdict.get();
}

TEST(Control, KeysReachWhoWaitedAndWhoComesLate) {
  Control control(2);
  const auto a = control.join(0);
  const auto b = control.join(1);
  std::future<std::string> early =
      std::async(std::launch::async, [&] { return a->wait("address", kPatience_s); });
  b->put("address", "10.0.0.1:5");
  EXPECT_EQ(early.get(), "10.0.0.1:5");
  EXPECT_EQ(b->wait("address", kPatience_s), "10.0.0.1:5");
  EXPECT_EQ(control.service.value("address"), "10.0.0.1:5");
  EXPECT_EQ(control.service.value("nothing"), std::nullopt);
}

TEST(Control, CountersAddUp) {
  Control control(2);
  const auto a = control.join(0);
  const auto b = control.join(1);
  EXPECT_EQ(a->add("n", 2), 2);
  EXPECT_EQ(b->add("n", 3), 5);
}

TEST(Control, AWaitEnds) {
  Control control(1);
  const auto a = control.join(0);
  EXPECT_THROW(a->wait("never", 0.05), RunFailure);
}

TEST(Control, ABarrierOpensWhenAllAreThere) {
  Control control(3);
  std::vector<std::unique_ptr<ControlClient>> clients;
  for (std::int32_t process = 0; process < 3; ++process) clients.push_back(control.join(process));
  std::atomic<int> through = 0;
  std::vector<std::jthread> threads;
  for (int process = 0; process < 2; ++process)
    threads.emplace_back([&, process] {
      barrier(*clients[static_cast<std::size_t>(process)], "b", 3, kPatience_s);
      ++through;
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(through, 0);
  barrier(*clients[2], "b", 3, kPatience_s);
  threads.clear();
  EXPECT_EQ(through, 2);
}

// A connection that ends without leaving is a death; whoever waits is told, and all hear the same.
TEST(Control, WhoEndsWithoutLeavingIsDead) {
  Control control(3);
  const auto a = control.join(0);
  const auto b = control.join(1);
  auto c = control.join(2);
  std::future<void> waiting =
      std::async(std::launch::async, [&] { a->wait("never", kPatience_s); });
  c->add("here", 1);
  c.reset();
  EXPECT_THROW(waiting.get(), PeerLost);
  const Verdict verdict = verdict_of(*a);
  EXPECT_EQ(verdict.epoch, 5u);
  EXPECT_EQ(verdict.dead, std::vector<std::int32_t>{2});
  EXPECT_EQ(verdict, verdict_of(*b));
  EXPECT_TRUE(control.service.seconds_since_verdict().has_value());
}

TEST(Control, WhoLeavesIsNotDead) {
  Control control(2);
  const auto a = control.join(0);
  auto b = control.join(1);
  b->leave();
  b.reset();
  a->put("failure/0", "process 0: something");
  const Verdict verdict = verdict_of(*a);
  EXPECT_TRUE(verdict.dead.empty());
  EXPECT_EQ(verdict.reason, "process 0: something");
}

// A process that is stopped keeps its connections and says nothing.
TEST(Control, SilenceIsDeath) {
  Control control(2);
  const auto a = control.join(0);
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket mute(io);
  const std::string& endpoint = control.service.endpoint();
  const auto port =
      static_cast<unsigned short>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
  mute.connect({boost::asio::ip::make_address("127.0.0.1"), port});
  const std::string join = "{\"call\":\"join\",\"process\":1}\n";
  mute.write_some(boost::asio::buffer(join));
  EXPECT_EQ(verdict_of(*a).dead, std::vector<std::int32_t>{1});
}

// A launcher sees its children end. Several deaths of one cause come in one verdict.
TEST(Control, DeathsThatALauncherSeesAreOneVerdict) {
  Control control(3);
  const auto a = control.join(0);
  control.service.report_dead(2, "it was ended by signal 9");
  control.service.report_dead(1, "it was ended by signal 9");
  const Verdict verdict = verdict_of(*a);
  EXPECT_EQ(verdict.dead, (std::vector<std::int32_t>{1, 2}));
  EXPECT_NE(verdict.reason.find("process 2"), std::string::npos);
}

TEST(Control, AnotherProcessOfTheSameNumberIsRefused) {
  Control control(2);
  const auto a = control.join(0);
  a->add("here", 1);
  const auto b = control.join(0);
  EXPECT_THROW(b->add("here", 1), RunFailure);
}

TEST(Control, TheServiceItselfMayBeLost) {
  auto control = std::make_unique<Control>(1);
  const auto a = control->join(0);
  a->add("here", 1);
  control.reset();
  EXPECT_NE(verdict_of(*a).reason.find("control service is lost"), std::string::npos);
}

}  // namespace
}  // namespace transload
