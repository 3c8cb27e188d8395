// A model's workspaces: a thread takes one, and returns it when done. Included only by the model's
// own source files.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "model.h"

namespace watchword {

class Model::Lease {
   public:
    explicit Lease(const Model& model) : model_(model) {
        const std::lock_guard guard(model.idle_mutex_);
        if (model.idle_.empty()) {
            workspace_ = std::make_unique<Workspace>();
        } else {
            workspace_ = std::move(model.idle_.back());
            model.idle_.pop_back();
        }
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
        const std::lock_guard guard(model_.idle_mutex_);
        if (model_.idle_.size() < kMostIdle) model_.idle_.push_back(std::move(workspace_));
    }

    Workspace& get() { return *workspace_; }
    // A workspace whose memo fits the current model, which must be locked.
    Workspace& prepared() {
        workspace_->memo.prepare(*model_.counts_, model_.parameters_, model_.largest_values(),
                                 model_.state_);
        return *workspace_;
    }

   private:
    static constexpr std::size_t kMostIdle = 16;

    const Model& model_;
    std::unique_ptr<Workspace> workspace_;
};

}  // namespace watchword
